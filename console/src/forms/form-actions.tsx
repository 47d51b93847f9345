import { t } from '../language/texts';

interface Props {
  /** What the button does, and what it says while it does so. */
  label: string;
  busyLabel: string;
  isBusy: boolean;
  isDisabled?: boolean;
  /** Something is lost for good. */
  isDanger?: boolean;
  cancelLabel?: string;
  onCancel: () => void;
  /** For a dialog without a form; otherwise the button submits. */
  onConfirm?: () => void;
}

/** The last line of a form or a question: back, or go on. */
export function FormActions(props: Props) {
  const { label, busyLabel, isBusy, isDisabled = false, isDanger = false, cancelLabel = t('Cancel') } = props;
  return (
    <div class="form-actions">
      <button type="button" class="button" onClick={props.onCancel}>
        {cancelLabel}
      </button>
      <button
        type={props.onConfirm ? 'button' : 'submit'}
        class={isDanger ? 'button is-primary is-danger' : 'button is-primary'}
        disabled={isBusy || isDisabled}
        onClick={props.onConfirm}
      >
        {isBusy ? busyLabel : label}
      </button>
    </div>
  );
}
