/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Enables the templates of the codex mode, and /prompts:<name> in clients. */
  readonly enable_prompt_templates: boolean;
  /** Enables GET /agent/system-layers, and a layer with the environment in the default mode. */
  readonly enable_prompt_context_introspect: boolean;
  /** Enables the second layout of the codex mode, with a tool guide and without duplicates. */
  readonly enable_codex_mode_v2: boolean;
  /** Source of the model instructions of the codex mode: files, or the catalogue of models. */
  readonly codex_prompt_source: 'file' | 'catalog';
  /** With the source file: also computes the catalogue's instructions and logs a difference. */
  readonly codex_prompt_shadow_compare: boolean;
  /**
   * Whether shipped texts replace required texts that the workspace does not have, in the modes codex and claude. In the default mode they always do.
   */
  readonly shipped_texts: boolean;
  /** File with the tool guide, absolute or below the workspace. */
  readonly ai_tools_guide_path: string;
  /** Folder of the codex mode's memories; <workspace>/.codex/memories when empty. */
  readonly codex_memory_root: string;
  /** Text about the network in the environment layer. */
  readonly network_access: string;
  /** Roots of the file tools; used here only for the sandbox policy, which * makes danger-full-access. */
  readonly file_roots: string;
}
