/** Articles, pronouns, auxiliaries, prepositions, conjunctions, question words, and remains of contractions. */
const ENGLISH = `
a about above after again against all also although am among an and any are aren as at
be because been before being below between both but by
can cannot could couldn
did didn do does doesn doing don done down during
each either else ever every
few for from further
had hadn has hasn have haven having he her here hers herself him himself his how however
i if in into is isn it its itself
just
ll
may me might more most must my myself
neither no nor not now
of off on once only onto or other our ours ourselves out over own
per please
quite
re
same shall shan she should shouldn since so some such
than that the their theirs them themselves then there these they this those though through thus to too
under until up upon us
ve very via
was wasn we were weren what whatever when where whether which while who whom whose why will with within without won would
wouldn
yes yet you your yours yourself yourselves
`;

/** Particles, pronouns, auxiliaries, conjunctions, measure words and question words, simplified. */
const SIMPLIFIED_CHINESE = `
的 地 得 了 着 过 和 与 及 或 而 且 但 但是 而且 并 并且 或者 以及 还是 因为 所以 因此 如果 虽然 然而 不过 由于
是 在 有 为 被 把 将 让 使 从 向 对 对于 关于 由 于 以 到 给 跟 同 比 按 按照 根据 通过 随着
我 你 您 他 她 它 我们 你们 您们 他们 她们 它们 自己 大家
这 那 这个 那个 这些 那些 这里 那里 这样 那样 这种 那种 此 该 其 其他 其它 之 所 者 某 某个 每 各 另 另外
也 都 就 还 又 再 才 只 很 更 最 太 非常 已 已经 曾 曾经 正在 不 没 没有 不是 是否 能 能够 可 可以 会 要 应该 应当 必须
一 一个 一些 一种 个 些 种 次 位 中 上 下 里 时 时候 等 等等 即 则 却 吗 呢 吧 啊 呀 嘛 哦
什么 哪 哪个 哪些 哪里 哪儿 哪位 哪种 哪家 哪一 谁 谁的 何 何时 何处 何地 为何 如何 为什么 怎么 怎样 怎么样 怎么办 几 几个 多少
多久 多大 多长 多高 多远 请 请问
`;

/** The same where the traditional form differs. */
const TRADITIONAL_CHINESE = `
著 過 與 並 並且 還是 因為 所以 雖然 然而 不過 由於
為 將 讓 從 向 對 對於 關於 於 給 跟 比 按照 根據 通過 隨著
妳 他們 她們 它們 我們 你們 妳們 您們 祂 牠 牠們
這 這個 那個 這些 這裡 這裏 那裡 那裏 這樣 那樣 這種 那種 該 其他 各 另
還 再 纔 只 更 最 已經 曾經 沒 沒有 是否 能夠 會 要 應該 應當 必須
一個 一種 個 種 裡 裏 時 時候 則 卻 嗎
什麼 甚麼 什麽 哪個 哪裡 哪裏 哪兒 哪種 誰 誰的 何時 何處 為何 為什麼 為甚麼 怎麼 怎樣 怎麼樣 怎麼辦 幾 幾個 多遠 多長 請 請問
`;

const STOP_WORDS: ReadonlySet<string> = new Set(
  [ENGLISH, SIMPLIFIED_CHINESE, TRADITIONAL_CHINESE].flatMap((list) => list.trim().split(/\s+/)),
);

/** Whether a term, in the form of `analyse`, is a function or question word of English or Chinese. */
export function isStopWord(term: string): boolean {
  return STOP_WORDS.has(term);
}
