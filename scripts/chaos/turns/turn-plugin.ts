import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const manifest = {
  manifestVersion: 1,
  key: 'chaos-turns',
  version: '0.0.0',
  title: 'Chaos turns',
  summary: 'A scripted model, and a tool that writes a journal of its effects.',
  entry: 'index.js',
  contributes: {
    provider: [
      { key: 'demo', facts: { capabilities: { stream: true, toolCall: true, attachments: false, reasoning: false } } },
    ],
    tool: [
      {
        key: 'effect',
        facts: {
          summary: 'Has an effect.',
          audience: ['agent'],
          sideEffects: true,
          inputSchema: { type: 'object', properties: { step: { type: 'integer' } } },
        },
      },
    ],
  },
};

/**
 * The model answers `<request> <steps>` after that many tool calls, with pauses, so that kills interrupt turns anywhere.
 * The tool appends one line per effect.
 */
const code = `import { appendFileSync } from 'node:fs';
const pause = (most) => new Promise((resolve) => setTimeout(resolve, Math.random() * most));
export default () => ({
  key: 'chaos-turns',
  register(host) {
    host.contribute('provider', 'demo', {
      ...host.facts('provider', 'demo'),
      async *generate({ messages }) {
        const asked = messages.findLastIndex(({ role }) => role === 'user');
        const [request, steps] = messages[asked].content.split(' ');
        const step = messages.slice(asked).filter(({ role }) => role === 'tool').length + 1;
        await pause(15);
        if (step <= Number(steps)) {
          const call = { id: 'call_' + step, name: 'effect', arguments: JSON.stringify({ step }) };
          yield { type: 'tool_calls_complete', toolCalls: [call] };
        } else {
          for (const text of ['done ', request]) {
            yield { type: 'content_delta', text };
            await pause(15);
          }
        }
        yield { type: 'done' };
      },
    });
    host.contribute('tool', 'effect', {
      ...host.facts('tool', 'effect'),
      async run({ step }, { session }) {
        await pause(10);
        appendFileSync(JOURNAL, session.turnId + ' ' + step + '\\n');
        await pause(10);
        return { step };
      },
    });
  },
});`;

/** Writes the plugin with model and tool into a server's plugins folder. */
export async function installTurns(folder: string, journal: string): Promise<void> {
  const plugin = join(folder, 'plugins', manifest.key);
  await mkdir(plugin, { recursive: true });
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(plugin, 'package.json'), '{"type":"module"}');
  await writeFile(join(plugin, 'index.js'), code.replaceAll('JOURNAL', JSON.stringify(journal)));
}
