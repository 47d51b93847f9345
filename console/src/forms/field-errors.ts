import { ApiError } from 'vnotes';

interface FieldFault {
  field: string;
  reason: string;
}

/** What the service says of one field, as a sentence; undefined if the refusal is about something else. */
export function fieldError(error: unknown, field: string): string | undefined {
  const reasons = faultsOf(error).filter((fault) => fault.field === field || fault.field.startsWith(`${field}[`));
  return reasons.length === 0 ? undefined : sentence(`${field} ${reasons.map(({ reason }) => reason).join('; ')}`);
}

/** What no field of the form can show. */
export function formError(error: unknown, fields: readonly string[]): unknown {
  return fields.some((field) => fieldError(error, field) !== undefined) ? null : error;
}

function faultsOf(error: unknown): FieldFault[] {
  if (!(error instanceof ApiError) || error.type !== 'ValidationError') return [];
  const { errors, field, reason } = error.details;
  const faults = Array.isArray(errors) ? (errors as Partial<FieldFault>[]) : [{ field, reason } as Partial<FieldFault>];
  return faults.filter((fault): fault is FieldFault => typeof fault.field === 'string' && Boolean(fault.reason));
}

function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}
