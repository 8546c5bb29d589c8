"use strict";
/* What the page says, in its two languages. */

const WORDS = {
  en: {
    title: "Attention",
    other: "中文",
    theme: "Light or dark",
    kinds: "Kind of attention",
    text: "The two texts, token by token",
    source: "Source",
    target: "Translation",
    chooser: "Layers and heads",
    map: "The chosen map; scrolls where it is large",
    weight: "weight, %",
    aligned: "alignment",
    later: "not written yet",
    mean: "mean",
    all: "all",
    start: "start",
    cross: "Cross-attention",
    encoder: "Encoder self-attention",
    decoder: "Decoder self-attention",
    from: { cross: "translation → source", encoder: "source → source", decoder: "translation → translation" },
    about: {
      cross: "Where the translation looks in the source: a row is a token of the translation while it is being made, a "
        + "column a token of the source.",
      encoder: "How the source tokens look at each other, before any translation: a row is the token that looks, a column "
        + "the one that it looks at.",
      decoder: "What each step looks at in the translation so far: a row is the token being made, a column what has been "
        + "written before it; the first is the start token.",
    },
    rows: { cross: "is made", encoder: "looks", decoder: "is made" },
    columns: { cross: "is read", encoder: "is looked at", decoder: "was written" },
    layer: (layer) => `L${layer}`,
    headShort: (head) => `${head}`,
    nameOne: (layer, head) => `Layer ${layer}, head ${head}`,
    nameLayer: (layer, heads) => `Layer ${layer}, mean of ${heads} heads`,
    nameAll: (layers, heads) => `Mean of all ${layers} layers and ${heads} heads`,
    idle: "Point at a token: what it looks at is filled, what looks at it is ringed. A click keeps it, Esc lets go.",
    looks: (token, list) => `${token} looks at ${list}`,
    looked: (token, list) => `${token} is looked at by ${list}`,
    nothing: (token) => `${token} looks at nothing in this view`,
    made: (token, p) => `${token} had a probability of ${p}`,
    belongs: (token) => `is aligned with ${token}`,
    quote: (token) => `“${token}”`,
    join: ", ",
    stop: "; ",
    empty: "There is no attention to show: the model has none of this kind, or the text has no tokens.",
    model: (name) => `Model: ${name}`,
    how: "How to read this page",
    help: [
      "Each token looks at others when the network works on it, and takes from each as much as its weight says: a row adds "
        + "up to 100 %. Every layer does so several times side by side, in heads, each for purposes of its own. Above are "
        + "all of them with their averages; the one you choose is shown large and in the two texts.",
      "The colour is the square root of the weight, so that faint ones remain visible. The bar below a token of the "
        + "translation is its probability. Attention shows where something is read, not why: heads that attend to EOS "
        + "often have nothing to do.",
      "Keys: Tab goes from part to part, the arrow keys move among tokens, heads and kinds, Enter keeps a token, "
        + "Esc lets go.",
    ],
  },
  zh: {
    title: "注意力",
    other: "English",
    theme: "浅色或深色",
    kinds: "注意力的种类",
    text: "逐词元显示的原文与译文",
    source: "原文",
    target: "译文",
    chooser: "各层与各头",
    map: "所选的图；较大时可滚动",
    weight: "权重（%）",
    aligned: "对齐",
    later: "尚未写出",
    mean: "平均",
    all: "全部",
    start: "开始",
    cross: "交叉注意力",
    encoder: "编码器自注意力",
    decoder: "解码器自注意力",
    from: { cross: "译文 → 原文", encoder: "原文 → 原文", decoder: "译文 → 译文" },
    about: {
      cross: "译文看向原文何处：一行是正在生成的译文词元，一列是原文词元。",
      encoder: "翻译之前，原文词元之间如何相互关注：一行是发出关注的词元，一列是被关注的词元。",
      decoder: "每一步看向已写出译文的何处：一行是正在生成的词元，一列是在它之前写出的内容，第一列是起始词元。",
    },
    rows: { cross: "正在生成", encoder: "看", decoder: "正在生成" },
    columns: { cross: "被读取", encoder: "被看", decoder: "已写出" },
    layer: (layer) => `${layer} 层`,
    headShort: (head) => `${head}`,
    nameOne: (layer, head) => `第 ${layer} 层，第 ${head} 头`,
    nameLayer: (layer, heads) => `第 ${layer} 层，${heads} 个头的平均`,
    nameAll: (layers, heads) => `全部 ${layers} 层、${heads} 个头的平均`,
    idle: "指向一个词元：它所看的被填色，看它的加上外框。单击可保留，按 Esc 取消。",
    looks: (token, list) => `${token} 看向 ${list}`,
    looked: (token, list) => `看向 ${token} 的有 ${list}`,
    nothing: (token) => `${token} 在此视图中不看任何词元`,
    made: (token, p) => `${token} 的概率为 ${p}`,
    belongs: (token) => `与 ${token} 对齐`,
    quote: (token) => `“${token}”`,
    join: "、",
    stop: "；",
    empty: "没有可显示的注意力：模型没有这一种，或文本没有词元。",
    model: (name) => `模型：${name}`,
    how: "如何阅读本页",
    help: [
      "网络处理每个词元时都会看向其他词元，并按权重从中取用：每一行合计 100 %。每一层同时有多个头，各有用途。上方是全部层与头及其平均，"
        + "选中的一个会放大显示，并标在原文与译文上。",
      "颜色取权重的平方根，使微弱的权重也可见。译文词元下方的横条是它的概率。注意力说明信息从何处读取，而不说明原因：看向 EOS 的头往往无事可做。",
      "按键：Tab 在各部分之间移动，方向键在词元、头、种类之间移动，Enter 保留词元，Esc 取消。",
    ],
  },
};

let language = (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";

function say(name) {
  return WORDS[language][name];
}
