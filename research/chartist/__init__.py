"""Would a chartist sign it? Blind ratings of the two lines and the name that a detector claims.

Planted series share one idea of a pattern with the detector that finds them. So pictures are rated
as well: each is cut at the last bar served and shows the bars, two lines and a claimed name, in
random order and mixed with random lines as a control. Two readers rate every picture from 0 (not
that pattern) to 3 (textbook) without knowing who drew it; a chart is accepted if both give 2 or
more. The readers of the stored ratings were vision-language models, briefed by `briefing.md`; they
were not people, and no figure here says what people would have accepted.

`charts` is what one picture shows, `controls` draws random lines and planted patterns, `pictures`
draws and numbers them, `ratings` holds what readers answered, `fit` learns the weights of the
judgement and says which symbols are set aside, and `curve` shows what a stricter score buys.
`python -m research.chartist --help` says how to run a round. Ratings are kept in `ratings/` without
prices and without pictures, because the licence of the bars forbids both.
"""
