import { json, startUpstream, type Upstream, type UpstreamAnswer } from 'mortise/contracts/models/testing';
import { anthropic } from 'mortise/contracts/provider-anthropic/testing';
import { codex } from 'mortise/contracts/provider-codex/testing';
import { openAi } from 'mortise/contracts/provider-openai/testing';

type Fields = Readonly<Record<string, unknown>>;

const command = 'echo pelican-$((40 + 2))';

/** Arguments of the tools that the model may call: it calls the first one that a client offers. */
const toolInputs: Readonly<Record<string, object>> = {
  add: { a: 40, b: 2 },
  Bash: { command, description: 'Adds two numbers' },
  exec_command: { cmd: command },
  shell_command: { command },
  shell: { command: ['sh', '-c', command] },
};

/** One API: the tools and results of a request, and the format of an answer. */
interface Wire {
  readonly result: (body: Fields) => unknown;
  readonly says: (text: string) => UpstreamAnswer;
  readonly calls: (name: string, input: string) => UpstreamAnswer;
}

const halves = (text: string): readonly [string, string] => [text.slice(0, 5), text.slice(5)];

const wires: Readonly<Record<string, Wire>> = {
  '/v1/messages': {
    result: ({ messages }) =>
      listOf(messages).findLast(({ content }) => listOf(content).some(({ type }) => type === 'tool_result')),
    says: (text) => anthropic.says(...halves(text)),
    calls: (name, input) => anthropic.asksFor(['toolu_01', name, input]),
  },
  '/v1/chat/completions': {
    result: ({ messages }) => listOf(messages).findLast(({ role }) => role === 'tool'),
    says: (text) => openAi.says(...halves(text)),
    calls: (name, input) => openAi.asksFor(['call_01', name, input]),
  },
  '/v1/responses': {
    result: ({ input }) => listOf(input).findLast(({ type }) => type === 'function_call_output'),
    says: (text) => streamed(codex.says(...halves(text)), textItem(text)),
    calls: (name, input) => streamed(codex.asksFor(['call_01', name, input]), callItem(name, input)),
  },
};

/** The stream, or for a request without `stream` the whole response with its single item. */
function streamed(stream: UpstreamAnswer, item: object): UpstreamAnswer {
  const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 };
  return ({ body }) =>
    (body as Fields | undefined)?.stream === true
      ? stream
      : json(200, codex.response({ status: 'completed', output: [item], usage }));
}

function textItem(text: string): object {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { id: 'msg_01', type: 'message', role: 'assistant', status: 'completed', content };
}

function callItem(name: string, input: string): object {
  return { id: 'fc_01', type: 'function_call', status: 'completed', call_id: 'call_01', name, arguments: input };
}

/** A model behind each API that calls one tool of its client, and then answers with the result. */
export async function startScriptedAgent(): Promise<Upstream> {
  const nothing = json(404, { error: { type: 'not_found_error', message: 'Not found' } });
  const upstream = await startUpstream({ nothingScripted: nothing });
  upstream.always(({ path, body }) => {
    const [pathname = ''] = path.split('?');
    if (pathname.endsWith('/count_tokens')) return json(200, { input_tokens: 10 });
    const wire = wires[pathname];
    return wire ? answer(wire, (body ?? {}) as Fields) : nothing;
  });
  return upstream;
}

function answer({ result, says, calls }: Wire, body: Fields): UpstreamAnswer {
  const given = result(body);
  if (given) return says(`The result is ${/pelican-42|\b42\b/.exec(JSON.stringify(given))?.[0] ?? 'unknown'}.`);
  const names = listOf(body.tools).map(({ name, function: called }) => name ?? (called as Fields | undefined)?.name);
  const known = Object.keys(toolInputs).find((name) => names.includes(name));
  return known === undefined ? says('There is no tool.') : calls(known, JSON.stringify(toolInputs[known]));
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];
}
