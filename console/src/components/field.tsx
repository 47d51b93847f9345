import { type ComponentChildren, cloneElement, type VNode } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  label: ComponentChildren;
  hint?: ComponentChildren;
  error?: ComponentChildren;
  /** One `<input>`, `<select>` or `<textarea>`: it receives its id and what describes it. */
  children: VNode<{ id?: string }>;
}

export function Field({ label, hint, error, children }: FieldProps) {
  const own = useId();
  const id = children.props.id ?? own;
  const described = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ');
  const aria = { 'aria-describedby': described || undefined, 'aria-invalid': error ? 'true' : undefined };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {cloneElement(children, { id, ...aria })}
      {hint && (
        <span id={`${id}-hint`} class="hint">
          {hint}
        </span>
      )}
      {error && (
        <span id={`${id}-error`} class="error" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}
