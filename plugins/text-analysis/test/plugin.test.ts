import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { RegisterHost } from 'mortise/sdk';
import textAnalysis from '../index.js';

describe('the plugin', () => {
  it('provides exactly the services that its manifest names', async () => {
    const manifest: unknown = JSON.parse(await readFile('plugins/text-analysis/plugin.json', 'utf8'));
    const provided = new Map<string, unknown>();
    const plugin = textAnalysis();
    const host: Pick<RegisterHost, 'provide'> = { provide: (service, value) => void provided.set(service, value) };
    plugin.register?.(host as RegisterHost);
    expect(manifest).to.include({ key: plugin.key, docs: 'README.md' });
    expect(manifest).to.have.deep.property('provides', [...provided.keys()]);
    const service = provided.get('text-analysis') as TextAnalysis;
    expect(service.analyse('A mortise').map(({ term }) => term)).to.deep.equal(['a', 'mortis', 'mortise']);
  });
});
