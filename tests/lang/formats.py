"""f-strings, str.format and % with Python's meaning: specs become operators and helper functions."""
import torch


def forward():
    x = 1.2345
    n = 42
    s = "ab"
    print(f"{x:.2f}|{x:10.3f}|{-x:08.2f}|{x:+.1f}|{x:e}|{x:.2e}|{x:g}|{x:.3g}|{x:%}")  # expect: 1.23|     1.234|-0001.23|+1.2|1.234500e+00|1.23e+00|1.2345|1.23|123.450000%
    print(f"|{n:5d}|{n:05d}|{n:<6}|{n:^6}|{n:x}|{n:#x}|{n:X}|{n:b}|{n:o}|{n:+d}|{n:c}|{1234567:,}|{-1234567:_}")  # expect: |   42|00042|42    |  42  |2a|0x2a|2A|101010|52|+42|*|1,234,567|-1_234_567
    print(f"|{s:>5}|{s:^6}|{s:^7}|{s:*<7}|{s:.1}|{s!r}|{s!s:>4}")  # expect: |   ab|  ab  |  ab   |ab*****|a|'ab'|  ab
    # correctly rounded, ties to even, as the digits of the double say
    print(f"{2.675:.2f} {0.125:.2f} {-0.5:.0f} {0.5:.0f} {1.5:.0f} {2.5:.0f} {99.995:.2f} {-0.0:.1f}")  # expect: 2.67 0.12 -0 0 2 2 100.00 -0.0
    print(f"{1e22:.1f} {0.1:.25f} {5e-324:.3e} {1.7976931348623157e308:.3e} {123456789.0:g} {0.0001:g} {0.00001:g}")  # expect: 10000000000000000000000.0 0.1000000000000000055511151 4.941e-324 1.798e+308 1.23457e+08 0.0001 1e-05
    print(f"{1234567.891:,.2f} {float('inf'):.1f} {-float('inf'):5.1f} {float('nan'):.1f} {100.0:.3} {12.0:.3}")  # expect: 1,234,567.89 inf  -inf nan 1e+02 12.0
    print(f"{{}} {{{n}}} }}{{")  # expect: {} {42} }{
    print(f"{torch.tensor(0.12345):.3f} {torch.tensor(7):d}")  # expect: 0.123 7
    print("{0}-{1}-{0} {x} {y:.1f} {{}} {z!r}".format(s, n, x=1, y=2.25, z="it's"))  # expect: ab-42-ab 1 2.2 {} "it's"
    print("{} {:>4} {}".format(1, 2, 3))  # expect: 1    2 3
    print("|%5.1f|%-5d|%05d|%s|%x|%5s|%-5s|%.1s|%+d|%%" % (2.25, n, n, s, 255, s, s, s, 3))  # expect: |  2.2|42   |00042|ab|ff|   ab|ab   |a|+3|%
    print("%.3f" % x, "%d%%" % n)  # expect: 1.234 42%
    big = 1e19
    print("|%21d|%+d|%-5d|%05d|" % (big, -2.0 * big, -0.5, -3.7))  # expect: | 10000000000000000000|-20000000000000000000|0    |-0003|
# expect: None
