import {
  type Contribution,
  type ContributionCache,
  isJsonObject,
  type JsonObject,
  type Points,
  type Principal,
  type ToolFacts,
} from 'mortise/sdk';
import type { PromptMode } from './business-params.js';
import { capabilitiesOf, type DerivedTool, derivedTools, shellSessionTool } from './derived-tools.js';
import { failureOf } from './errors.js';
import { normaliseItems, takesItems, unwrapArguments, withUsableLimits } from './normalise-arguments.js';
import type { RuntimeTool } from './runtime-tools.js';
import {
  invalidArguments,
  invokeFailed,
  notAvailable,
  type ToolError,
  toolFailure,
  unknownTool,
} from './tool-errors.js';
import { claudeDerived, claudeName, claudeNameOf, claudeTools, resolveAlias } from './tool-names.js';

/** What determines the tools of a turn, apart from its principal. */
export interface ToolScope {
  readonly promptMode: PromptMode;
  readonly collaborationMode: string;
  readonly runtimeTools: readonly RuntimeTool[];
  /** Names of the only tools that the model is offered and may call; all when absent. */
  readonly only?: readonly string[] | undefined;
}

export type AgentTool = Contribution<'tool'>;

/** The call of a registered tool to which a call by name is resolved. */
export interface PlannedCall {
  readonly tool: AgentTool;
  readonly input: JsonObject;
  /** Turns the tool's result into that of the named tool. */
  readonly finish: (result: object) => object;
}

export type Plan =
  | { readonly ok: true; readonly call: PlannedCall }
  | { readonly ok: false; readonly error: ToolError };

interface NamedFacts {
  readonly name: string;
  readonly facts: ToolFacts;
}

interface RegistryDeps {
  readonly points: Points;
  readonly tools: ContributionCache<ReadonlyMap<string, Contribution<'tool'>>>;
  /** Names of disabled tools. */
  readonly disabled: readonly string[];
}

/** A runtime tool may run through another one; this limit ends cycles. */
const maxDelegations = 4;

const same = (result: object): object => result;

/** The tools of agents by call name: registered, derived and runtime tools. */
export class ToolRegistry {
  readonly #deps: RegistryDeps;
  readonly #disabled: ReadonlySet<string>;

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
    this.#disabled = new Set(deps.disabled.map((name) => name.trim().toLowerCase()));
  }

  /** A tool by its exact name, disabled or not. */
  find(name: string, scope: ToolScope): { readonly facts: ToolFacts; readonly disabled: boolean } | undefined {
    const tool = this.#registered(name, scope);
    if (tool) return { facts: tool.facts, disabled: this.#isDisabled(name, tool) };
    const derived = this.#derived(name, scope);
    if (derived) {
      const targets = derived.capabilities.flatMap((capability) => this.#withCapability(capability));
      if (targets.length === 0) return undefined;
      return {
        facts: derived.facts,
        disabled: this.#isDisabledName(name) || targets.every((one) => this.#isDisabled(one.key, one)),
      };
    }
    const runtime = scope.runtimeTools.find((one) => one.name === name);
    return runtime && { facts: runtime.facts, disabled: this.#isDisabledName(name) };
  }

  /** The tools that this principal is offered in this scope, by name. */
  async definitions(principal: Principal, scope: ToolScope): Promise<readonly NamedFacts[]> {
    const enabled = [...this.#deps.tools.current.values()].filter(
      (tool) => isForAgents(tool.facts) && !this.#isDisabled(tool.key, tool),
    );
    const shown = await Promise.all(enabled.map((tool) => this.isOffered(tool, principal)));
    const visible = enabled.filter((_, index) => shown[index]);
    const registered = visible
      .filter(({ facts }) => isAdvertised(facts, scope))
      .map(({ key, facts }) => ({ name: claudeNameOf(key) ?? key, facts }));
    const derived = Object.entries(derivedTools)
      .filter(([name]) => this.#derived(name, scope) && !this.#isDisabledName(name))
      .filter(([, { capabilities }]) => visible.some(({ key, facts }) => offersAny(key, facts, capabilities)))
      .map(([name, { facts }]) => ({ name, facts }));
    const own = [...registered, ...derived];
    const taken = new Set(own.map(({ name }) => name));
    const runtime = scope.runtimeTools.filter(
      ({ name }) => !taken.has(name) && !this.#deps.tools.current.has(name) && !this.#isDisabledName(name),
    );
    return [...own, ...runtime.map(({ name, facts }) => ({ name, facts }))]
      .filter(({ name }) => scope.only?.includes(name) ?? true)
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Resolves a call by name to the call of a registered tool. A model may use other names for a tool and its arguments; a
   * direct caller may not.
   */
  plan(name: string, args: JsonObject, scope: ToolScope, byModel: boolean): Plan {
    try {
      return byModel ? this.#planForModel(name, args, scope) : this.#plan(name, args, scope, 0);
    } catch (error) {
      // A derived tool refuses its arguments with a coded error.
      const failure = failureOf(error);
      return refused(failure ? invalidArguments(failure.message) : toolFailure(name, error));
    }
  }

  /** A tool whose `visibleTo` throws is not offered. */
  async isOffered({ key, offers }: AgentTool, principal: Principal): Promise<boolean> {
    if (!offers.includes('visibleTo')) return true;
    try {
      return await this.#deps.points.call('tool', key, (tool) => tool.visibleTo?.(principal) ?? true, { principal });
    } catch {
      return false;
    }
  }

  #planForModel(name: string, args: JsonObject, scope: ToolScope): Plan {
    const input = unwrapArguments(args, (member) => declares(this.find(name, scope)?.facts, member));
    // An exact name takes precedence: a plugin's tool may have the name of an alias.
    const isExact = this.find(name, scope) !== undefined && !this.#isClaudeEdit(name, input, scope);
    const resolved = isExact ? name : this.#modelName(name, input, scope);
    const session = resolved === 'shell' ? shellSessionTool(input) : undefined;
    if (session && this.find(session, scope)) return this.#plan(session, firstItem(input), scope, 0);
    return this.#plan(resolved, takesItems(resolved) ? normaliseItems(resolved, input) : input, scope, 0);
  }

  #modelName(name: string, input: JsonObject, scope: ToolScope): string {
    if (this.#isClaudeEdit(name, input, scope)) return 'Edit';
    const plain = resolveAlias(name);
    const claude = scope.promptMode === 'claude' ? claudeName(plain) : undefined;
    return claude !== undefined && plain !== 'edit' ? claude : plain;
  }

  /** In Claude mode `edit` is Claude's tool when it is called with Claude's members. */
  #isClaudeEdit(name: string, input: JsonObject, { promptMode }: ToolScope): boolean {
    return promptMode === 'claude' && name.toLowerCase() === 'edit' && 'file_path' in input && 'old_string' in input;
  }

  #plan(name: string, input: JsonObject, scope: ToolScope, depth: number): Plan {
    const tool = this.#registered(name, scope);
    if (tool) {
      if (this.#isDisabled(name, tool)) return refused(unknownTool(name, 'tool_disabled'));
      const { collaborationModes } = tool.facts;
      if (collaborationModes && !collaborationModes.includes(scope.collaborationMode)) {
        return refused(
          notAvailable(name, `it is only available in collaboration mode ${collaborationModes.join(', ')}`),
        );
      }
      return { ok: true, call: { tool, input: withUsableLimits(name, input), finish: same } };
    }
    const derived = this.#derived(name, scope);
    if (derived) return this.#planDerived(name, derived, input);
    const runtime = scope.runtimeTools.find((one) => one.name === name);
    if (!runtime) return refused(unknownTool(name));
    if (this.#isDisabledName(name)) return refused(unknownTool(name, 'tool_disabled'));
    if (runtime.target === undefined || depth === maxDelegations) return refused(invokeFailed(name));
    return this.#planDelegated(runtime.target, { ...runtime.input, ...input }, scope, depth + 1);
  }

  #planDerived(name: string, derived: DerivedTool, args: JsonObject): Plan {
    if (this.#isDisabledName(name)) return refused(unknownTool(name, 'tool_disabled'));
    const { capability, input, finish = same } = derived.route(args);
    const targets = this.#withCapability(capability);
    const target = targets.find((one) => !this.#isDisabled(one.key, one));
    if (target) return { ok: true, call: { tool: target, input, finish } };
    return refused(unknownTool(name, targets.length > 0 ? 'tool_disabled' : 'tool_not_supported'));
  }

  /** The arguments come from a model and are normalised like those of its other calls. */
  #planDelegated(target: string, input: JsonObject, scope: ToolScope, depth: number): Plan {
    const name = this.find(target, scope) ? target : resolveAlias(target);
    return this.#plan(name, takesItems(name) ? normaliseItems(name, input) : input, scope, depth);
  }

  /** A tool with a Claude name is called by that name only. */
  #registered(name: string, { promptMode }: ToolScope): AgentTool | undefined {
    const isClaude = Object.hasOwn(claudeTools, name);
    if (isClaude && promptMode !== 'claude') return undefined;
    const tool = this.#deps.tools.current.get(isClaude ? (claudeTools[name] ?? name) : name);
    if (!tool || !isForAgents(tool.facts)) return undefined;
    return !isClaude && claudeNameOf(name) !== undefined ? undefined : tool;
  }

  #derived(name: string, { promptMode }: ToolScope): DerivedTool | undefined {
    if (!Object.hasOwn(derivedTools, name)) return undefined;
    const isClaude = claudeDerived.some((one) => one === name);
    return isClaude && promptMode !== 'claude' ? undefined : derivedTools[name];
  }

  #withCapability(capability: string): readonly AgentTool[] {
    return [...this.#deps.tools.current.values()].filter(
      ({ key, facts }) => isForAgents(facts) && offersAny(key, facts, [capability]),
    );
  }

  #isDisabled(name: string, { key, facts }: AgentTool): boolean {
    const names = [name, key, claudeNameOf(key) ?? key, ...(facts.builtOn ?? [])];
    return names.some((one) => this.#isDisabledName(one));
  }

  #isDisabledName(name: string): boolean {
    return this.#disabled.has(name.toLowerCase());
  }
}

function refused(error: ToolError): Plan {
  return { ok: false, error };
}

function offersAny(key: string, facts: ToolFacts, capabilities: readonly string[]): boolean {
  const own = capabilitiesOf(key, facts);
  return capabilities.some((capability) => own.includes(capability));
}

function isForAgents({ audience }: ToolFacts): boolean {
  return audience.includes('agent');
}

function isAdvertised({ modes, collaborationModes }: ToolFacts, scope: ToolScope): boolean {
  if (modes && !modes.includes(scope.promptMode)) return false;
  return !collaborationModes || collaborationModes.includes(scope.collaborationMode);
}

function firstItem(args: JsonObject): JsonObject {
  const [item] = Array.isArray(args.items) ? (args.items as readonly unknown[]) : [args.items];
  return isJsonObject(item) ? item : args;
}

function declares(facts: ToolFacts | undefined, member: string): boolean {
  const properties = facts?.inputSchema.properties;
  return isJsonObject(properties) && member in properties;
}
