const reasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

/** Why the model stopped, in the words that all adapters use. */
export function stopReason(finish: string | undefined, calls: boolean): string {
  const reason = reasons[finish ?? ''] ?? 'end_turn';
  // Some adapters finish an answer with calls as if it were text.
  return calls && reason === 'end_turn' ? 'tool_use' : reason;
}
