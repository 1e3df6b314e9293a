import { isSensitiveName } from '../sdk/mask.js';
import { aliasOf } from './environment.js';
import { isSecretPath, type PropertyFacts, type SchemaFacts } from './schema-facts.js';

/** The variables of one owner, as far as its own schema does not say what is secret in them. */
export interface SecretVariablesOf {
  /** Another schema calls it a secret. */
  isForeign(name: string): boolean;
  /** Whether all that a property has from a variable is a secret. */
  has(name: string, property: PropertyFacts | undefined): boolean;
}

/**
 * Which variables hold secrets: those that the schema of the host or of any plugin calls so, whoever else reads them
 * under whatever name. A variable that only looks like a secret is one too, unless a schema says `x-secret: false`.
 */
export class SecretVariables {
  private readonly host: string;
  private readonly markedBy = new Map<string, Set<string>>();
  /** Of the host: they look like secrets and are none. */
  private readonly plain = new Set<string>();

  constructor(host: string) {
    this.host = host;
  }

  /** @returns the variables that this owner had not called a secret before. */
  learn(owner: string, facts: SchemaFacts): ReadonlySet<string> {
    const found = new Set<string>();
    for (const property of facts.properties) {
      const secret = isSecretPath(facts, property.path, true);
      for (const name of withAliases(property.env)) {
        if (!secret && owner === this.host) this.plain.add(name);
        if (!secret || this.markedBy.get(name)?.has(owner)) continue;
        this.markedBy.set(name, (this.markedBy.get(name) ?? new Set()).add(owner));
        found.add(name);
      }
    }
    return found;
  }

  of(owner: string): SecretVariablesOf {
    const isForeign = (name: string): boolean => [...(this.markedBy.get(name) ?? [])].some((other) => other !== owner);
    return {
      isForeign,
      has: (name, property) => isForeign(name) || (property?.plain !== true && this.looksSecret(name)),
    };
  }

  /**
   * A variable that a plugin's schema may not ask for: a secret of the host, or one that would be the name of a file or a
   * time, which are shown to everybody.
   */
  refusedTo(facts: SchemaFacts): string | undefined {
    const asked = facts.properties.flatMap((property) => property.env);
    const told = [...facts.fileEnv, ...facts.pollEnv];
    return (
      [...asked, ...told].find((name) => this.markedBy.get(name)?.has(this.host)) ??
      told.find((name) => this.markedBy.has(name) || this.looksSecret(name))
    );
  }

  private looksSecret(name: string): boolean {
    return isSensitiveName(name) && !this.markedBy.has(name) && !this.plain.has(name);
  }
}

/** Whether one of these variables may set a value of that configuration. */
export function readsAny({ properties }: SchemaFacts, variables: ReadonlySet<string>): boolean {
  return properties.some(({ env }) => withAliases(env).some((name) => variables.has(name)));
}

/** The names, each with the one that is read in its place. */
function withAliases(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => [name, aliasOf(name) ?? name]);
}
