import { MortiseError } from 'mortise/sdk';

const installCommand = 'npm install --no-save --ignore-scripts onnxruntime-web @huggingface/tokenizers';

const errors = {
  embedder_library_missing: {
    status: 503,
    message: 'The libraries that run local models are not installed.',
    hint: `In the folder of Mortise, run: ${installCommand}`,
  },
  embedder_model_missing: {
    status: 503,
    message: 'The folder of the model is not set, or a file is missing in it.',
    hint: 'Set model_folder (MORTISE_EMBEDDER_MODEL_FOLDER) to a folder with tokenizer.json and onnx/model.onnx.',
  },
  embedder_model_invalid: {
    status: 503,
    message: 'The model cannot be loaded, or does not give vectors of text.',
    hint: 'Use the ONNX export of a sentence embedding model, with its own tokenizer.json.',
  },
  embedder_unavailable: {
    status: 503,
    message: 'The thread of the model ended.',
    hint: 'Repeat the call: the next one starts the thread again. A larger model may need more memory.',
  },
} as const;

type TransformersErrorCode = keyof typeof errors;

/** @param cause what failed, in words, without text of the user */
export function transformersError(code: TransformersErrorCode, cause?: string): MortiseError {
  const { status, message, hint } = errors[code];
  return new MortiseError(code, cause === undefined ? message : `${message} ${cause}`, { status, hint });
}
