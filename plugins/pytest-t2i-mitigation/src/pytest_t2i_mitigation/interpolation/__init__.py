"""Interpolation between a masculine and a feminine picture in Stable Diffusion 3 (the thesis).

This follows chapter 4 of the thesis, eq. 4.11 to 4.23, with two corrections. The softmax is the
joint one of eq. 4.6, as the four parts of eq. 4.7 are no softmax. In eq. 4.19, m has weight 0 and f
weight 1, as in eq. 4.11 and 4.14; the print exchanges them.
"""
