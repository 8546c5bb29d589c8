// DeepL's client for Node.js (../engines/package.json; NODE_PATH says where it is) with a server's address:
//   node clients_deepl.js URL|--try
// Prints what it got as one JSON object.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const deepl = require('deepl-node');

const [url] = process.argv.slice(2);
const WEATHER = '今天天气很好。', READING = '我喜欢读书。', HTML = '<p>今天<b>天气</b>很好。</p>';

const error = call => call.then(() => 'none', thrown => thrown.constructor.name);
const entries = of => new deepl.GlossaryEntries({ entries: of });
const terms = of => ({ sourceLangCode: 'zh', targetLangCode: 'en', entries: entries(of) });

async function texts(client, got) {
  const one = await client.translateText(WEATHER, null, 'en-US');
  got.text = [one.text, one.detectedSourceLang, one.billedCharacters];
  got.texts = (await client.translateText([READING, WEATHER], 'zh', 'en-GB')).map(each => each.text);
  got.html = (await client.translateText(HTML, 'zh', 'en-US', { tagHandling: 'html', ignoreTags: ['code', 'pre'] })).text;
  const options = { formality: 'prefer_less', splitSentences: 'nonewlines', preserveFormatting: true, context: 'a letter',
    outlineDetection: false, modelType: 'prefer_quality_optimized' };
  const chosen = await client.translateText(WEATHER, 'zh', 'en-US', options);
  got.options = [chosen.text, chosen.modelTypeUsed];
}

async function languages(client, got) {
  got.sources = (await client.getSourceLanguages()).map(one => one.code);
  got.targets = (await client.getTargetLanguages()).map(one => one.code);
  got.pairs = (await client.getGlossaryLanguagePairs()).map(one => [one.sourceLang, one.targetLang]);
  const before = (await client.getUsage()).character.count;
  await client.translateText(WEATHER, 'zh', 'en-US');
  got.usage = (await client.getUsage()).character.count - before;
}

async function glossaries(client, got) {
  const made = await client.createGlossary('terms', 'zh', 'en', entries({ 天气: 'climate' }));
  got.glossary = [made.name, made.ready, made.sourceLang, made.targetLang, made.entryCount];
  got.entries = (await client.getGlossaryEntries(made)).entries();
  got.listed = (await client.listGlossaries()).some(one => one.glossaryId === made.glossaryId);
  got.used = (await client.translateText(WEATHER, 'zh', 'en-US', { glossary: made })).text.includes('climate');
  await client.deleteGlossary(made);
  const csv = await client.createGlossaryWithCsv('csv', 'zh', 'en', Buffer.from('天气,"climate"\n'));
  got.csv = (await client.getGlossaryEntries(csv)).entries();
  await client.deleteGlossary(csv);
}

async function multilingual(client, got) {
  const made = await client.createMultilingualGlossary('terms', [terms({ 天气: 'climate' })]);
  got.multilingual = [made.name, made.dictionaries[0].entryCount];
  const used = await client.translateText(WEATHER, 'zh', 'en-US', { glossary: made });
  got.multilingualUsed = used.text.includes('climate');
  got.renamed = (await client.updateMultilingualGlossaryName(made, 'other')).name;
  await client.updateMultilingualGlossaryDictionary(made, terms({ 好: 'fine' }));
  got.merged = (await client.getMultilingualGlossaryDictionaryEntries(made, 'zh', 'en')).entries.entries();
  got.replaced = (await client.replaceMultilingualGlossaryDictionary(made, terms({ 好: 'fine' }))).entryCount;
  got.multilingualListed = (await client.listMultilingualGlossaries()).some(one => one.glossaryId === made.glossaryId);
  await client.updateMultilingualGlossaryDictionaryWithCsv(made, 'zh', 'en', '天气,climate');
  await client.deleteMultilingualGlossaryDictionary(made, 'zh', 'en');
  got.left = (await client.getMultilingualGlossary(made.glossaryId)).dictionaries.length;
  await client.deleteMultilingualGlossary(made);
}

async function documents(client, got) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'translate-test-'));
  const source = path.join(folder, 'a.txt'), target = path.join(folder, 'b.txt');
  try {
    fs.writeFileSync(source, WEATHER);
    const status = await client.translateDocument(source, target, 'zh', 'en-US');
    got.document = [fs.readFileSync(target, 'utf8'), status.status, status.billedCharacters];
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

async function errors(client, got) {
  got.errors = [
    await error(new deepl.Translator('none', { serverUrl: url }).getUsage()),
    await error(client.translateText(WEATHER, 'zh', 'de')),
    await error(client.translateText(WEATHER, 'zh', 'en-US', { formality: 'more' })),
    await error(client.getGlossary('none')),
    await error(client.translateText(Array(51).fill(WEATHER), 'zh', 'en-US')),
  ];
}

async function main() {
  const client = new deepl.DeepLClient('key', { serverUrl: url });
  const got = {};
  for (const part of [texts, languages, glossaries, multilingual, documents, errors]) {
    await part(client, got);
  }
  console.log(JSON.stringify(got));
  process.exit(0); // the connections that it keeps would hold it up
}

if (url !== '--try') {
  main();
}
