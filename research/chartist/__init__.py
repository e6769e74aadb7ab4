"""Would a chartist sign it? Blind ratings of the two lines and the name that a detector claims.

Planted series share one idea of a pattern with the detector that finds them. So pictures are rated
as well: each is cut at the last bar served and shows the bars, two lines and a claimed name, in
random order and mixed with random lines as a control. Two readers rate every picture from 0 (not
that pattern) to 3 (textbook) without knowing who drew it; a chart is accepted if both give 2 or
more. The readers of the stored ratings were vision-language models, briefed by `briefing.md`; they
were not people, and no figure here says what people would have accepted.

`charts` is what one picture shows, `market` the bars, `split` which symbols are set aside,
`control` draws random lines, `plants` planted patterns, `samples` chooses, `pictures` draws, `sets`
writes pictures and their key, `readings` are the answers of one reader, `rows` the ratings that are
kept in `ratings/`, `acceptance` the figures, `shapes` the numbers that the judgement weighs, `fit`
learns its weights, and `curve` shows what a stricter score buys. `python -m benchmarks.chartist
--help` says how to run a round. Ratings are kept without prices and without pictures, because the
licence of the bars forbids both.
"""
