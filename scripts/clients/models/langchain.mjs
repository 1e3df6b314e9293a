// LangChain: one answer with a tool, not streamed and then streamed.
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const [origin, api, name] = process.argv.slice(2);
const add = tool(async ({ a, b }) => String(a + b), {
  name: 'add',
  description: 'Adds two numbers.',
  schema: z.object({ a: z.number(), b: z.number() }),
});
const openAi = { model: name, apiKey: 'any', maxRetries: 0, configuration: { baseURL: `${origin}/v1` } };
const models = {
  messages: () => new ChatAnthropic({ model: name, apiKey: 'any', maxRetries: 0, anthropicApiUrl: origin }),
  chat: () => new ChatOpenAI(openAi),
  responses: () => new ChatOpenAI({ ...openAi, useResponsesApi: true }),
};
const model = models[api]().bindTools([add]);
const messages = [new HumanMessage('What is 40 + 2?')];
const first = await model.invoke(messages);
messages.push(first);
for (const call of first.tool_calls) {
  messages.push(new ToolMessage({ content: await add.invoke(call.args), tool_call_id: call.id }));
}
let final;
for await (const chunk of await model.stream(messages)) final = final ? final.concat(chunk) : chunk;
console.log(final.text);
