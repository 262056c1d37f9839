"""Audits: one package per question, with its needs, measurements, record and report sections."""
