import { json, startUpstream, type Upstream, type UpstreamAnswer } from 'mortise/contracts/models/testing';
import { anthropic } from 'mortise/contracts/provider-anthropic/testing';

type Fields = Readonly<Record<string, unknown>>;

/** A model of the Messages API that stores the memory of a client, searches it, and answers with both results. */
export async function startScriptedMemory(client: string): Promise<Upstream> {
  const nothing = json(404, { error: { type: 'not_found_error', message: 'Not found' } });
  const upstream = await startUpstream({ nothingScripted: nothing });
  upstream.always(({ path, body }) => {
    const [pathname = ''] = path.split('?');
    if (pathname.endsWith('/count_tokens')) return json(200, { input_tokens: 10 });
    return pathname === '/v1/messages' ? answer(client, (body ?? {}) as Fields) : nothing;
  });
  return upstream;
}

function answer(client: string, { messages, tools }: Fields): UpstreamAnswer {
  const named = (ending: string): string | undefined =>
    listOf(tools)
      .map(({ name }) => String(name))
      .find((name) => name.endsWith(ending));
  const [store, query] = [named('memory_store'), named('memory_query')];
  if (store === undefined || query === undefined) return anthropic.says('There is ', 'no memory.');
  const results = listOf(messages)
    .flatMap(({ content }) => listOf(content))
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : listOf(content)
            .map(({ text }) => text)
            .join(''),
    );
  const [stored, found] = results;
  if (stored === undefined) {
    const memory = { payload_md: `The pelican of ${client} is asleep.`, target_space: 'private:me' };
    return anthropic.asksFor(['toolu_01', store, JSON.stringify(memory)]);
  }
  if (found === undefined) {
    const search = { query: `pelican of ${client}`, spaces: ['private:me'] };
    return anthropic.asksFor(['toolu_02', query, JSON.stringify(search)]);
  }
  return anthropic.says(JSON.stringify({ stored, found }), '');
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];
}
