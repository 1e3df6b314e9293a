import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkout } from '../launcher/modules.js';

interface ConfigTypes {
  configTypes(checkout: string): Promise<readonly { readonly path: string; readonly text: string }[]>;
  typesOf(schema: object): Promise<string>;
}

const { configTypes, typesOf } = (await import(
  new URL('../../../scripts/lib/config-types.mjs', import.meta.url).href
)) as ConfigTypes;

describe('generated configuration types', () => {
  it('match the schemas; `npm run generate` writes them', async () => {
    const files = await configTypes(checkout);
    expect(files).to.not.be.empty;
    for (const { path, text } of files) expect(readFileSync(join(checkout, path), 'utf8'), path).to.equal(text);
  });

  it('require what the host fills in, and are read-only at every level', async () => {
    const text = await typesOf({
      type: 'object',
      properties: {
        name: { type: 'string', description: 'Shown to users.' },
        size: { type: 'integer', default: 1 },
        filled: { type: 'object', properties: { on: { type: 'boolean', default: true }, note: { type: 'string' } } },
        open: {
          type: 'object',
          required: ['id'],
          properties: { id: { type: 'string' }, n: { type: 'number', default: 1 } },
        },
        rows: { type: 'array', minItems: 1, items: { type: 'object', properties: { id: { type: 'string' } } } },
      },
    });
    for (const line of [
      '/** Shown to users. */',
      'readonly name?: string;',
      'readonly size: number;',
      'readonly filled: {',
      'readonly on: boolean;',
      'readonly note?: string;',
      'readonly open?: {',
      'readonly rows?: readonly {',
    ])
      expect(text).to.include(line);
  });
});
