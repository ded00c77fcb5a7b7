"""Regular expressions at module level, with what Python's own give."""
import re

CASES = [
    (r"(\d+)x(\d+)", "a12x34b"), (r"^blocks\.(\d+)", "blocks.12.attn"), (r"a*?b", "aaab"), (r"(a|ab)(c|bcd)(d*)", "abcd"),
    (r"[^a-c\d]+", "abc1xyz2"), (r"(?:ab)+", "ababx"), (r"(?P<n>\w+)=(?P<v>.*)", "key=val=x"), (r"(\w)\1", "hello"),
    (r"x(?=y)", "xzxy"), (r"x(?!y)", "xyxz"), (r"(?<=a)b", "bab"), (r"\bfoo\b", "a foo."), (r"a{2,3}", "aaaa"), (r"a{2}", "a"),
    (r"(a*)*b", "aab"), (r"", "ab"), (r"$", "ab"), (r"[\w.-]+@\w+", "me.x-y@z"), (r"[]a]+", "]a]"), (r"(x)?(y)", "y"), (r"a|", "ba"),
    (r"\.", "a.b"), (r"(?i)AbC", "xaBc"), (r"stem.conv", "stem\nconv"), (r"\s*,\s*", "a , b"), (r"([A-Z])([a-z]*)", "FooBar"),
]
for pattern, text in CASES:
    m = re.search(pattern, text)
    print(repr(pattern), m.span() if m else None, m.groups() if m else None, re.findall(pattern, text), re.sub(pattern, "-", text), re.match(pattern, text) is None)
print(re.sub(r"([A-Z])", r"_\1", "fooBarBaz"), re.sub(r"(?P<k>\d)", r"<\g<k>>", "a1b2"), re.sub("b", lambda m: m.group() * 2, "abc"))
print(re.split(r"[,;]", "a,b;c"), re.split(r"(\d)", "a1b2c"), re.subn("a", "b", "banana", 2), re.fullmatch("a+", "aab"))
print(re.findall("""(?x) [a-z ]+  # letters\n (\\x41 | [\\u0042#]) """, "foo Abar#"), re.search("^b(?:(?!c).)*", "a\n" + "b" * 5000 + "c", re.M).span(), re.search("(?a:b)c", "abc").start())
print(re.findall(r"(?m)^\s*(\w)", "a b\n c\nd"), re.search("(def)+g", "abcdefdefg").span(), re.findall("ab|b", "abcb"))
print(re.compile(r"(?P<x>a)(b)?").match("a").groupdict(), re.escape("a.b*c"))


def forward():
    return 1

# expect: '(\\d+)x(\\d+)' (1, 6) ('12', '34') [('12', '34')] a-b True
# expect: '^blocks\\.(\\d+)' (0, 9) ('12',) ['12'] -.attn False
# expect: 'a*?b' (0, 4) () ['aaab'] - False
# expect: '(a|ab)(c|bcd)(d*)' (0, 4) ('a', 'bcd', '') [('a', 'bcd', '')] - False
# expect: '[^a-c\\d]+' (4, 7) () ['xyz'] abc1-2 True
# expect: '(?:ab)+' (0, 4) () ['abab'] -x False
# expect: '(?P<n>\\w+)=(?P<v>.*)' (0, 9) ('key', 'val=x') [('key', 'val=x')] - False
# expect: '(\\w)\\1' (2, 4) ('l',) ['l'] he-o True
# expect: 'x(?=y)' (2, 3) () ['x'] xz-y True
# expect: 'x(?!y)' (2, 3) () ['x'] xy-z True
# expect: '(?<=a)b' (2, 3) () ['b'] ba- True
# expect: '\\bfoo\\b' (2, 5) () ['foo'] a -. True
# expect: 'a{2,3}' (0, 3) () ['aaa'] -a False
# expect: 'a{2}' None None [] a True
# expect: '(a*)*b' (0, 3) ('',) [''] - False
# expect: '' (0, 0) () ['', '', ''] -a-b- False
# expect: '$' (2, 2) () [''] ab- True
# expect: '[\\w.-]+@\\w+' (0, 8) () ['me.x-y@z'] - False
# expect: '[]a]+' (0, 3) () [']a]'] - False
# expect: '(x)?(y)' (0, 1) (None, 'y') [('', 'y')] - False
# expect: 'a|' (0, 0) () ['', 'a', ''] -b-- False
# expect: '\\.' (1, 2) () ['.'] a-b True
# expect: '(?i)AbC' (1, 4) () ['aBc'] x- True
# expect: 'stem.conv' None None [] stem
# expect: conv True
# expect: '\\s*,\\s*' (1, 4) () [' , '] a-b True
# expect: '([A-Z])([a-z]*)' (0, 3) ('F', 'oo') [('F', 'oo'), ('B', 'ar')] -- False
# expect: foo_Bar_Baz a<1>b<2> abbc
# expect: ['a', 'b', 'c'] ['a', '1', 'b', '2', 'c'] ('bbnbna', 2) None
# expect: ['A', '#'] (2, 5002) 1
# expect: ['a', 'c', 'd'] (3, 10) ['ab', 'b']
# expect: {'x': 'a'} a\.b\*c
# expect: 1
