import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seededRandom } from '../../../core/sdk/testing/index.js';

/** A folder of Markdown files whose words follow Zipf's law, and queries over them. */
export interface Corpus {
  readonly folder: string;
  readonly files: number;
  /** Total size of all files. */
  readonly bytes: number;
  readonly queries: readonly string[];
}

const syllables = 'ka lo mi ren ta vu sel dor pi qua nex bri fal gon hu jas yt wem zor ce'.split(' ');
const words = Array.from({ length: 20_000 }, (_, index) => {
  const parts: string[] = [];
  for (let rest = index + 400; rest > 0; rest = Math.floor(rest / 20)) parts.push(syllables[rest % 20] ?? '');
  return parts.join('');
});
const bytesOfFile = 1_200;
const filesOfFolder = 500;
const queryCount = 300;

/** Writes `files` documents of about 1.2 kB, each with a title and three sections: one passage with default settings. */
export async function writeCorpus(folder: string, files: number, seed: number): Promise<Corpus> {
  const random = seededRandom(seed);
  // The inverse of Zipf's distribution with exponent 1.
  const word = (): string => words[Math.floor(words.length ** random()) - 1] ?? '';
  const sentence = (length: number): string => `${Array.from({ length }, word).join(' ')}.`;
  let bytes = 0;
  for (let first = 0; first < files; first += filesOfFolder) {
    const below = join(folder, `part-${first / filesOfFolder}`);
    await mkdir(below, { recursive: true });
    for (let index = first; index < Math.min(files, first + filesOfFolder); index += 1) {
      let text = `# ${sentence(4)}\n`;
      for (let section = 0; text.length < bytesOfFile; section += 1) {
        if (section % 6 === 0) text += `\n## ${sentence(3)}\n\n`;
        text += `${sentence(12)}\n`;
      }
      await writeFile(join(below, `note-${index}.md`), text);
      bytes += text.length;
    }
  }
  const queries = Array.from({ length: queryCount }, () => {
    const length = 2 + Math.floor(random() * 3);
    // Rank 30 and up: queries contain distinctive words.
    return Array.from({ length }, () => words[30 + Math.floor((words.length - 30) ** random())] ?? '').join(' ');
  });
  return { folder, files, bytes, queries };
}
