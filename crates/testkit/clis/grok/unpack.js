// The program comes compressed; its package would unpack it into the home of whoever runs it.
const { readFileSync, writeFileSync } = require('node:fs');
const { brotliDecompressSync } = require('node:zlib');

const packed = `node_modules/@xai-official/grok-linux-${process.arch}/bin/grok.br`;
writeFileSync('grok', brotliDecompressSync(readFileSync(packed)), { mode: 0o755 });
