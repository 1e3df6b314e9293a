import { expect } from 'chai';
import { estimateTokens } from 'mortise/contracts/models';
import { skillsLayer } from '../skills-layer.js';

const skill = (name: string, content: string, enabled = true) => ({
  name,
  content,
  enabled,
  references: {},
  scripts: {},
  path: `/skills/${name}`,
});

describe('the layer of the skills', () => {
  it('does not exist without an enabled skill', () => {
    expect(skillsLayer([])).to.equal(undefined);
    expect(skillsLayer([skill('a', 'x', false)])).to.equal(undefined);
  });

  it('describes a skill by its front matter, else by its first line', () => {
    const described = '---\nname: a\ndescription: "Writes notes."\n---\n# Title\ntext';
    const text = skillsLayer([skill('a', described), skill('b', '\n# First line\nsecond')])?.content;
    expect(text).to.contain('### a\nWrites notes.\n').and.to.contain('### b\nFirst line\n');
  });

  it('cuts a long description to 200 characters', () => {
    const line = skillsLayer([skill('a', '🦫'.repeat(300))])
      ?.content.split('\n')
      .find((text) => text.startsWith('🦫'));
    expect([...(line ?? '')]).to.have.length(200);
  });

  it('contains whole texts up to 4,000 tokens, and names the other skills', () => {
    const skills = ['a', 'b', 'c'].map((name) => skill(name, `${name.repeat(3)} ${'word '.repeat(1_500)}`));
    const content = skillsLayer([...skills, skill('d', 'short')])?.content ?? '';
    expect(estimateTokens(content)).to.be.at.most(4_000);
    for (const { name } of skills) expect(content).to.contain(`### ${name}\n`);
    expect(content).to.contain('Folder: /skills/c\nFiles: SKILL.md\nRead SKILL.md first.').and.to.contain('\n\nshort');
    expect(content.match(/Read SKILL\.md first/g)).to.have.length(1);
  });
});
