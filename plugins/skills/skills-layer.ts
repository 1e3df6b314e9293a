import { estimateTokens } from 'mortise/contracts/models';
import type { Skill } from 'mortise/contracts/skills';
import { type ExtensionPointFacts, type PromptLayer, type PromptSource, promptLayer } from 'mortise/sdk';
import { skillFiles } from './skill-folders.js';

/** The layer's size in tokens up to which the texts of skills are part of it. */
const layerTokens = 4_000;
const maxDescriptionLength = 200;

const intro =
  'Skills are instructions for special tasks. When a task matches a skill, follow it. Open its files with the tools view or ' +
  'Read by the paths below, and run its scripts with the tool shell; its folder may be the working directory.';

/** What the model is told about the enabled skills; undefined without any. */
export function skillsLayer(skills: readonly Skill[]): PromptLayer | undefined {
  const enabled = skills.filter((skill) => skill.enabled);
  if (enabled.length === 0) return undefined;
  const entries = enabled.map((skill) => ({
    head: headOf(skill),
    whole: `${headOf(skill)}\n\n${skill.content.trim()}`,
  }));
  // Every skill is named; texts are added in order while they fit.
  let tokens = estimateTokens(intro) + sum(entries.map(({ head }) => estimateTokens(head) + markTokens));
  const parts = entries.map(({ head, whole }) => {
    const more = estimateTokens(whole) - estimateTokens(head);
    if (tokens + more > layerTokens) return `${head}\n${mark}`;
    tokens += more;
    return whole;
  });
  return promptLayer('skills_system', 'runtime://skills', [intro, ...parts].join('\n\n'));
}

const mark = 'Read SKILL.md first.';
const markTokens = estimateTokens(mark);

function headOf(skill: Skill): string {
  const files = [...skillFiles(skill).keys()].join(', ');
  return `### ${skill.name}\n${describe(skill.content)}\nFolder: ${skill.path}\nFiles: ${files}`;
}

const frontMatter = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** `description` of the front matter, else the first line with text. */
function describe(content: string): string {
  const front = frontMatter.exec(content)?.[1];
  const described = front && /^description:[ \t]*(.+?)[ \t]*$/m.exec(front)?.[1]?.replace(/^(["'])(.*)\1$/, '$2');
  const body = content.replace(frontMatter, '');
  const line = described || body.split(/\r?\n/).find((text) => text.trim() !== '') || '';
  const text = [...line.replace(/^#+\s*/, '').trim()];
  return text.length <= maxDescriptionLength ? text.join('') : `${text.slice(0, maxDescriptionLength - 3).join('')}...`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The prompt source of the enabled skills. */
export function skillsSource(facts: ExtensionPointFacts['prompt-source'], list: () => readonly Skill[]): PromptSource {
  return {
    ...facts,
    async build() {
      const layer = skillsLayer(list());
      return layer ? [layer] : [];
    },
  };
}
