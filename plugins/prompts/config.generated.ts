/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Templates of the codex mode, and /prompts:<name> in clients. */
  readonly enable_prompt_templates: boolean;
  /** GET /agent/system-layers, and a layer with the environment in the default mode. */
  readonly enable_prompt_context_introspect: boolean;
  /** The second layout of the codex mode, with a tool guide and without duplicates. */
  readonly enable_codex_mode_v2: boolean;
  /** Where the model instructions of the codex mode come from: files, or the catalogue of models. */
  readonly codex_prompt_source: 'file' | 'catalog';
  /** With the source file: also computes the catalogue's instructions and logs a difference. */
  readonly codex_prompt_shadow_compare: boolean;
  /**
   * Whether a required text that the workspace does not have is taken from the shipped ones, in the modes codex and claude. The default mode always has them.
   */
  readonly shipped_texts: boolean;
  /** File with the tool guide, absolute or below the workspace. */
  readonly ai_tools_guide_path: string;
  /** Folder of the codex mode's memories; <workspace>/.codex/memories when empty. */
  readonly codex_memory_root: string;
  /** What the environment layer says about the network. */
  readonly network_access: string;
  /** Only whether file tools are confined is read here: * makes the sandbox policy danger-full-access. */
  readonly file_roots: string;
}
