"""Interpolation between a masculine and a feminine picture in Stable Diffusion 3 (the thesis).

Chapter 4 of the thesis, eq. 4.11 to 4.23. Read with these corrections: the joint softmax of eq. 4.6
(4.7 splits one softmax into four, which is none), and m at weight 0, f at weight 1 in eq. 4.19,
which prints them exchanged against 4.11, 4.14 and the endpoints.
"""
