import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A tool and a model that print when they begin, and answer after the time that the call names. */
const code = `const begun = (id) => console.log('begun ' + id);
const after = (ms, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});
export default () => ({
  key: 'slow-answers',
  register(host) {
    host.contribute('tool', 'hold', {
      summary: 'Answers later.',
      audience: ['mcp'],
      inputSchema: { type: 'object', properties: { id: { type: 'string' }, ms: { type: 'integer' } } },
      async run({ id, ms }, { signal, progress }) {
        begun(id);
        // With a progress token, the answer becomes a stream.
        progress?.(1, 2);
        await after(ms, signal);
        return { text: 'held ' + id };
      },
    });
    host.contribute('provider', 'demo', {
      ...host.facts('provider', 'demo'),
      async *generate({ messages }, { signal }) {
        const [id, ms] = messages.at(-1).content.split(' ');
        begun(id);
        yield { type: 'content_delta', text: 'Re: ' };
        await after(Number(ms), signal);
        yield { type: 'content_delta', text: id };
        yield { type: 'done' };
      },
    });
  },
});
`;

const facts = { capabilities: { stream: true, toolCall: false, attachments: false, reasoning: false } };

const manifest = {
  manifestVersion: 1,
  key: 'slow-answers',
  version: '0.0.0',
  title: 'Slow answers',
  summary: 'Answers calls after the time they name.',
  entry: 'index.js',
  contributes: { tool: ['hold'], provider: [{ key: 'demo', facts }] },
};

/** Ids of the calls that the plugin has begun, from the server's output. */
export function begunCalls(output: string): ReadonlySet<string> {
  return new Set([...output.matchAll(/begun (\S+)/g)].map(([, id = '']) => id));
}

/** Writes the plugin into a server's plugins folder. @returns the keys of the plugins to enable with it */
export async function writeSlowPlugin(folder: string): Promise<readonly string[]> {
  const own = join(folder, 'plugins', manifest.key);
  await mkdir(own, { recursive: true });
  await writeFile(join(own, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(own, 'package.json'), '{"type":"module"}');
  await writeFile(join(own, 'index.js'), code);
  return [
    'logbook',
    'sessions',
    'conversation',
    'models',
    'agent',
    'channel-console',
    'realtime',
    'mcp-server',
    manifest.key,
  ];
}
