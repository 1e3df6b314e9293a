import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { mcpMaxBytes, mountNames } from '../index.js';

const mebibyte = 1024 * 1024;

describe('mounts', () => {
  it('are the ones that a manifest may name', async () => {
    const schema: unknown = JSON.parse(await readFile('schemas/plugin.schema.json', 'utf8'));
    const text = JSON.stringify(schema);
    expect(text).to.include(`"mount":{"enum":${JSON.stringify(mountNames)}}`);
  });

  it('leave room on /mcp for one evidence upload, within bounds', () => {
    expect(mcpMaxBytes(mebibyte)).to.equal(4 * mebibyte);
    expect(mcpMaxBytes(4 * mebibyte)).to.equal(6 * mebibyte + 64 * 1024);
    expect(mcpMaxBytes(100 * mebibyte)).to.equal(20 * mebibyte);
  });
});
