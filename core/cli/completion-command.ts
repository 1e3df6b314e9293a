import { Argument, type Command } from 'commander';
import type { CommandEnvironment } from './environment.js';
import { examples } from './output.js';

/** A command with the words and options that can follow it. */
interface Completed {
  /** Words after `mortise`, separated by blanks; empty for the program. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly summary: string }[];
  readonly options: readonly string[];
}

/** The word at `i` in the syntax of each shell. */
const bashWord = `"\${COMP_WORDS[i]}"`;
const zshWord = `"\${words[i]}"`;
const shells = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `mortise completion <shell>`: a completion script for all commands of this installation. */
export function addCompletionCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(Object.keys(shells)))
    .description('print a script that completes commands and options in a shell')
    .addHelpText(
      'after',
      examples(
        'source <(mortise completion bash)                                       now, in bash',
        'mortise completion zsh > ~/.zfunc/_mortise                              for zsh',
        'mortise completion fish > ~/.config/fish/completions/mortise.fish       for fish',
      ),
    )
    .action((shell: keyof typeof shells) => {
      const script = shells[shell](completedBy(program));
      environment.print(script, { shell, script });
    });
}

const safe = /^[\w.:-]+$/;

function completedBy(program: Command): readonly Completed[] {
  const global = longOptions(program);
  const visit = (command: Command, path: string): readonly Completed[] => {
    const below = command.commands.filter((one) => safe.test(one.name()));
    const words = below.map((one) => ({ word: one.name(), summary: one.description() }));
    const own = command === program ? [] : longOptions(command);
    const here = { path, words: [...words, ...choicesOf(command)], options: [...own, ...global, '--help'] };
    return [here, ...below.flatMap((one) => visit(one, `${path} ${one.name()}`.trim()))];
  };
  return visit(program, '');
}

function longOptions({ options }: Command): readonly string[] {
  return options.flatMap(({ long }) => (long && safe.test(long) ? [long] : []));
}

/** Values of the first argument: `<list|show|retry>` in the usage of a contributed command. */
function choicesOf(command: Command): Completed['words'] {
  const [, listed] = /^<([\w-]+(?:\|[\w-]+)+)>/.exec(command.usage()) ?? [];
  const words = listed?.split('|') ?? command.registeredArguments[0]?.argChoices ?? [];
  return words.map((word) => ({ word, summary: '' }));
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Follows the typed words as far as they are commands; the same code in bash and zsh. */
function follow(all: readonly Completed[], first: string, last: string, word: string): string {
  const cases = all
    .filter(({ path }) => path !== '')
    .map(({ path }) => {
      const words = path.split(' ');
      return `      ${quoted(`${words.slice(0, -1).join(' ')} ${words.at(-1)}`)}) at=${quoted(path)} ;;`;
    });
  return `  local at= word i
  for ((i = ${first}; i < ${last}; i++)); do
    word=${word}
    case "$at $word" in
${cases.join('\n')}
    esac
  done`;
}

function bashScript(all: readonly Completed[]): string {
  const cases = all.map(
    ({ path, words, options }) =>
      `    ${quoted(path)}) words=${quoted(words.map(({ word }) => word).join(' '))} options=${quoted(options.join(' '))} ;;`,
  );
  return `# bash completion of mortise: source <(mortise completion bash)
_mortise() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words= options=
${follow(all, '1', 'COMP_CWORD', bashWord)}
  case "$at" in
${cases.join('\n')}
  esac
  if [[ "$current" == -* ]]; then words="$options"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _mortise mortise nextai`;
}

function zshScript(all: readonly Completed[]): string {
  const cases = all.map(({ path, words, options }) => {
    const described = words.map(({ word, summary }) => quoted(`${word.replaceAll(':', '\\:')}:${summary}`));
    return `    ${quoted(path)}) words_here=(${described.join(' ')}) options_here=(${options.join(' ')}) ;;`;
  });
  return `#compdef mortise nextai
# zsh completion of mortise: mortise completion zsh > ~/.zfunc/_mortise
_mortise() {
  local -a words_here options_here
${follow(all, '2', 'CURRENT', zshWord)}
  case "$at" in
${cases.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    compadd -- "\${options_here[@]}"
  elif (( \${#words_here} )); then
    _describe 'command' words_here
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _mortise ]]; then _mortise "$@"; else compdef _mortise mortise nextai; fi`;
}

function fishScript(all: readonly Completed[]): string {
  const fish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const paths = all.filter(({ path }) => path !== '').map(({ path }) => fish(path));
  const lines = all.flatMap(({ path, words, options }) => {
    const when = `complete -c mortise -n '__mortise_is "${path}"'`;
    return [
      ...words.map(({ word, summary }) => `${when} -f -a ${word} -d ${fish(summary)}`),
      ...options.map((option) => `${when} -l ${option.slice(2)}`),
    ];
  });
  return `# fish completion of mortise: mortise completion fish > ~/.config/fish/completions/mortise.fish
function __mortise_is
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim -- "$at $word")
    if contains -- "$longer" ${paths.join(' ')}
      set at "$longer"
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
complete -c nextai -w mortise`;
}
