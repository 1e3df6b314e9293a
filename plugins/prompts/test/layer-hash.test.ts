import { expect } from 'chai';
import { promptLayer } from 'mortise/sdk';
import { layerHash, promptHash, withoutDuplicates } from '../layer-hash.js';
import { renderTemplate } from '../template.js';

describe('the hash of a prompt layer', () => {
  it('covers the heading, and neither line ends nor outer white space', () => {
    const layer = promptLayer('base_system', 'prompts/AGENTS.md', 'You are Mortise.');
    expect(layerHash(layer.content)).to.equal('959c644ee043a9cd1f5559c0078c6b6be9549a4498eb8139fa61c486a4b2aaf3');
    expect(layerHash(' a\r\nb\rc \n')).to.equal(layerHash('a\nb\nc'));
    expect(layerHash(' \n')).to.equal('');
  });

  it('differs for prompts of another mode, order or text', () => {
    const [a, b] = [promptLayer('a', 's', 'one'), promptLayer('b', 's', 'two')];
    const hashes = [
      promptHash('default', 'Default', [a, b]),
      promptHash('codex_v1', 'Default', [a, b]),
      promptHash('default', 'Plan', [a, b]),
      promptHash('default', 'Default', [b, a]),
    ];
    expect(new Set(hashes).size).to.equal(4);
  });
});

describe('layers with the same text', () => {
  const layer = (name: string, text: string) => promptLayer(name, `${name}.md`, text);

  it('are one layer: the first, or at its place the one of a higher priority', () => {
    const layers = [layer('low', 'same\r\n'), layer('other', 'x'), layer('high', 'same')];
    expect(withoutDuplicates(layers, () => 0).map(({ name }) => name)).to.deep.equal(['low', 'other']);
    const byName = ({ name }: { readonly name: string }) => (name === 'high' ? 2 : 1);
    expect(withoutDuplicates(layers, byName).map(({ name }) => name)).to.deep.equal(['high', 'other']);
  });
});

describe('a template', () => {
  it('gets its values, and is refused without one of them', () => {
    expect(renderTemplate('{{A}} and {{ A }}, {{B}} {A}', { A: '$1', B: '' })).to.equal('$1 and $1,  {A}');
    expect(() => renderTemplate('{{toString}}', {})).to.throw('toString has no value');
  });
});
