import { type Agent, type IncomingMessage, request } from 'node:http';

interface StreamedRequest {
  readonly agent: Agent;
  readonly url: string;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** The text that an event adds, if it adds any. */
  readonly textOf: (event: unknown) => string | undefined;
  readonly onText: (text: string) => void;
  /** Called with the open response, which a slow reader pauses. */
  readonly onOpen?: (answer: IncomingMessage) => void;
}

/** Posts JSON and reads the events of the answer as they arrive. @throws when the answer has no end mark */
export function readEventStream({ agent, url, body, headers, textOf, onText, onOpen }: StreamedRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { agent, method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
    const outgoing = request(url, options, (answer) => {
      let rest = '';
      let isWhole = false;
      onOpen?.(answer);
      answer.setEncoding('utf8');
      const take = (part: string): void => {
        const frames = (rest + part).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const data = frame.startsWith('data: ') ? frame.slice(6) : '';
          if (data === '[DONE]') isWhole = true;
          else if (data !== '') {
            const text = textOf(JSON.parse(data));
            if (text) onText(text);
          }
        }
      };
      answer.on('data', (part: string) => {
        try {
          take(part);
        } catch (error) {
          answer.destroy(error as Error);
        }
      });
      answer.on('end', () => (isWhole ? resolve() : reject(new Error(`no end mark (status ${answer.statusCode})`))));
      answer.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(JSON.stringify(body));
  });
}

/** The text of an event of `POST /agent/process`. */
export function turnText(event: unknown): string | undefined {
  const { type, delta, meta } = event as { type: string; delta?: string; meta?: { code?: string } };
  if (type === 'error') throw new Error(meta?.code ?? 'error');
  return delta;
}

/** The text of a chunk of the API. */
export function chunkText(event: unknown): string | undefined {
  return (event as { choices: { delta?: { content?: string } }[] }).choices[0]?.delta?.content;
}
