"""A float that no int is has no digits."""


def forward():
    return "%5d" % float("inf")  # error: OverflowError: cannot convert float infinity to integer
