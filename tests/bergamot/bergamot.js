// Bergamot's own engine, from npm (../engines/package.json; NODE_PATH says where it is):
//   node bergamot.js DIR [--no-shortlist] < lines
// A line for each line, each translated alone. Its kernels are the WebAssembly ones that need nothing of a browser.
'use strict';
const fs = require('fs');
const path = require('path');

const worker = path.join(path.dirname(require.resolve('@browsermt/bergamot-translator/package.json')), 'worker');
const [directory, ...flags] = process.argv.slice(2);
const kernels = ['prepare_a', 'prepare_b', 'prepare_b_from_transposed', 'prepare_b_from_quantized_transposed',
  'prepare_bias', 'multiply_and_add_bias', 'select_columns_of_b'].map(name => 'int8_' + name);

// int8_prepare_a is int8PrepareAFallback in the module itself.
function fallback(name) {
  const inside = name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()) + 'Fallback';
  return [name, (...values) => Module.asm[inside](...values)];
}

function find(pattern) {
  return fs.readdirSync(directory).sort().find(name => pattern.test(name));
}

function aligned(name, to) {
  const bytes = name ? fs.readFileSync(path.join(directory, name)) : Buffer.alloc(0);
  const memory = new Module.AlignedMemory(bytes.length, to);
  memory.getByteArrayView().set(bytes);
  return memory;
}

function run() {
  const file = find(/^model\..*intgemm/);
  const config = ['beam-size: 1', 'normalize: 1.0', 'word-penalty: 0', 'max-length-break: 256', 'mini-batch-words: 1024',
    'workspace: 128', 'max-length-factor: 2.0', 'skip-cost: true', 'cpu-threads: 0', 'quiet: true',
    'quiet-translation: true', 'alignment: soft',
    'gemm-precision: ' + (/alphas/.test(file) ? 'int8shiftAlphaAll' : 'int8shiftAll')].join('\n');
  const vocabularies = new Module.AlignedMemoryList();
  for (const pattern of [/^vocab\./, /^srcvocab\./, /^trgvocab\./]) {
    if (find(pattern)) vocabularies.push_back(aligned(find(pattern), 64));
  }
  const shortlist = flags.includes('--no-shortlist') ? undefined : find(/^lex\./);
  const model = new Module.TranslationModel(config, aligned(file, 256), aligned(shortlist, 64), vocabularies, null);
  const service = new Module.BlockingService({cacheSize: 0});
  for (const line of fs.readFileSync(0, 'utf8').replace(/\n$/, '').split('\n')) {
    const input = new Module.VectorString(), options = new Module.VectorResponseOptions();
    input.push_back(line);
    options.push_back({qualityScores: false, alignment: false, html: false});
    console.log(service.translate(model, input, options).get(0).getTranslatedText().replace(/\n/g, '\\n'));
  }
}

global.Module = {
  instantiateWasm(imports, accept) {
    const bytes = fs.readFileSync(path.join(worker, 'bergamot-translator-worker.wasm'));
    WebAssembly.instantiate(bytes, {...imports, wasm_gemm: Object.fromEntries(kernels.map(fallback))})
      .then(result => accept(result.instance));
    return {};
  },
  onRuntimeInitialized: run,
};
// Not a module: it looks for a global Module.
eval.call(global, fs.readFileSync(path.join(worker, 'bergamot-translator-worker.js'), 'utf8'));
