/**
 * Stores one memory, searches it, and prints the texts of both results as JSON.
 *
 * @param {string} name of the client, which also distinguishes its memory from those of others
 * @param {(tool: string, args: object) => Promise<unknown>} call calls a tool with the client under test
 */
export async function exercise(name, call) {
  const stored = await call('memory_store', {
    payload_md: `The pelican of ${name} is asleep.`,
    target_space: 'private:me',
  });
  const found = await call('memory_query', { query: `pelican of ${name}`, spaces: ['private:me'] });
  process.stdout.write(`${JSON.stringify({ stored: textOf(stored), found: textOf(found) })}\n`);
}

/** The text of a tool result: a result with content, its content blocks, one block, or the text, by client. */
function textOf(result) {
  if (typeof result === 'string') return result;
  const content = [result.content ?? result].flat();
  return content.map((block) => block.text ?? '').join('');
}
