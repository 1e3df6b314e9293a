/** Options of every command that have a value; a started server needs only the address. */
const valued = new Set(['--api-base', '--api-key', '--admin-key', '--locale']);

/**
 * The server's arguments when `start` or `app start` is typed, with the options of every command before or after it.
 * @param {readonly string[]} args
 * @returns {readonly string[] | undefined} undefined for any other command, and for its help
 */
export function startArguments(args) {
  /** @type {string[]} */
  const options = [];
  let index = 0;
  for (; args[index]?.startsWith('-'); index += 1) {
    const option = args[index] ?? '';
    if (option === '--json') options.push(option);
    else if (valued.has(option)) options.push(option, args[++index] ?? '');
    else if (valued.has(option.split('=', 1)[0] ?? '')) options.push(option);
    else return undefined;
  }
  const words = args[index] === 'app' && args[index + 1] === 'start' ? 2 : args[index] === 'start' ? 1 : 0;
  const rest = [...options, ...args.slice(index + words)];
  if (words === 0 || rest.includes('--help') || rest.includes('-h')) return undefined;
  return [...withoutKeys(rest), '--connect'];
}

/**
 * @param {readonly string[]} args
 * @returns {string[]}
 */
function withoutKeys(args) {
  /** @type {string[]} */
  const kept = [];
  for (let index = 0; index < args.length; index += 1) {
    const option = args[index] ?? '';
    const [name = ''] = option.split('=', 1);
    if (name === '--api-base' || !valued.has(name)) kept.push(option);
    else if (!option.includes('=')) index += 1;
  }
  return kept;
}
