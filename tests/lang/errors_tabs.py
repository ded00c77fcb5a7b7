"""Indentation whose depth depends on the width of a tab."""
import torch


def forward(x):
    if x.size(0) > 1:
	x = x + 1  # error: SyntaxError: inconsistent use of tabs and spaces in indentation
    return x
