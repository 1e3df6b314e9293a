import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkout as root } from '../launcher/modules.js';
import { readImports } from './read-imports.js';

/** Too large for every installation; the plugin documents how to install them. */
const installedByUser: Readonly<Record<string, readonly string[]>> = {
  'plugins/embedder-transformers/model-thread.ts': ['onnxruntime-web', '@huggingface/tokenizers'],
};

describe('the packages of the product', () => {
  it('are all dependencies, so that an installation without the tools of developers has them', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
    const files = globSync(['core/**/*.{ts,tsx}', 'plugins/**/*.{ts,tsx}'], {
      cwd: root,
      exclude: ['**/test/**', '**/testing/**', '**/node_modules/**'],
    });
    const missing = files.flatMap((file) => {
      const known = ['mortise', ...Object.keys(dependencies), ...(installedByUser[file] ?? [])];
      return readImports(file, readFileSync(join(root, file), 'utf8'))
        .filter(({ specifier, typeOnly }) => !typeOnly && !/^(?:\.|node:)/.test(specifier))
        .map(({ specifier }) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'))
        .filter((name) => !known.includes(name))
        .map((name) => `${file}: ${name}`);
    });
    expect(files).to.have.length.above(0);
    expect(missing).to.deep.equal([]);
  });
});
