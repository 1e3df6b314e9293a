import { ask, can, field, form, roots, sampling, type Tools, text, tool } from './tool.js';

const string = { type: 'string' };
const confirm = { ...form('Please confirm', { ok: { type: 'boolean' } }, ['ok']), key: 'confirm' };
const userName = { ...form('What is your name?', { name: string }, ['name']), key: 'user_name' };

/** Tools that end a request with a question and continue when the client repeats it with the answer. */
export const inputRoundTools: Tools = {
  test_input_required_result_elicitation: tool('Asks a person.', async (_, ctx) =>
    text(`Hello, ${field(await ask(ctx, userName), 'name')}!`),
  ),
  test_input_required_result_sampling: tool("Asks the client's model.", async (_, ctx) => {
    const { content } = await ask(ctx, { ...sampling('What is the capital of France?'), key: 'capital_question' });
    return text(String(Reflect.get(Object(content), 'text')));
  }),
  test_input_required_result_list_roots: tool('Asks for the roots.', async (_, ctx) => {
    const answer = await ask(ctx, { ...roots, key: 'client_roots' });
    return text(JSON.stringify(answer.roots));
  }),
  test_input_required_result_request_state: tool('Asks, and checks the returned state.', async (_, ctx) => {
    await ask(ctx, confirm);
    return text('state-ok');
  }),
  test_input_required_result_tampered_state: tool('Asks, and must detect a forged state.', async (_, ctx) => {
    await ask(ctx, confirm);
    return text('state-ok');
  }),
  test_input_required_result_multiple_inputs: tool('Asks three things at once.', async (_, ctx) => {
    const greeting = { ...sampling('Write a greeting.'), key: 'greeting' };
    const answers = await Promise.all(
      [userName, greeting, { ...roots, key: 'client_roots' }].map((question) => ask(ctx, question)),
    );
    return text(JSON.stringify(answers));
  }),
  test_input_required_result_multi_round: tool('Asks one thing after the other.', async (_, ctx) => {
    const name = await ask(ctx, { ...form('Step 1: What is your name?', { name: string }, ['name']), key: 'step1' });
    const question = form('Step 2: What is your favorite color?', { color: string }, ['color']);
    const color = await ask(ctx, { ...question, key: 'step2' });
    return text(`${field(name, 'name')} likes ${field(color, 'color')}`);
  }),
  test_input_required_result_capabilities: tool('Asks only what the client can answer.', async (_, ctx) => {
    const questions = [
      ...(can(ctx, 'sampling') ? [{ ...sampling('Write a greeting.'), key: 'greeting' }] : []),
      ...(can(ctx, 'elicitation') ? [userName] : []),
    ];
    await Promise.all(questions.map((question) => ask(ctx, question)));
    return text(`Asked ${questions.length} questions.`);
  }),
};
