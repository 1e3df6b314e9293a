import { type Agent, request } from 'node:http';

export interface HttpAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const LIMIT_MS = 10_000;

/** `POST` with a JSON body. @throws Error when there is no whole answer. */
export function post(url: string, body: unknown, agent: Agent): Promise<HttpAnswer> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      method: 'POST',
      agent,
      timeout: LIMIT_MS,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
    });
    asked.once('timeout', () => asked.destroy(new Error('no answer in time')));
    asked.once('error', reject);
    asked.once('response', (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
      response.once('error', reject);
      response.once('aborted', () => reject(new Error('half an answer')));
      response.once('end', () => {
        try {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) });
        } catch (error) {
          reject(error);
        }
      });
    });
    asked.end(text);
  });
}
