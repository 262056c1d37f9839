"""Corrections of predicted labels by labels of people."""
