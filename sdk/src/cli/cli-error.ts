import { EXIT, type ExitCode } from './exit-codes.js';

/** What went wrong in a sentence, with what to do about it. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT.failure,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The command line is wrong. */
export function usageError(message: string): CliError {
  return new CliError(message, EXIT.usage);
}
