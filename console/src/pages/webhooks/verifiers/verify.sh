# verify SECRET SIGNATURE BODY_FILE
verify() {
  local digest
  digest=$(openssl dgst -sha256 -hmac "$1" -r < "$3" | cut -d ' ' -f 1)
  [ -n "$digest" ] && [ "$2" = "sha256=$digest" ]
}

# verify_standard SECRET ID TIMESTAMP SIGNATURE BODY_FILE
verify_standard() {
  local key digest age=$(( $(date +%s) - $3 ))
  [ "${age#-}" -le 300 ] || return 1
  case $1 in
    whsec_*) key=$(printf '%s' "${1#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \n') ;;
    *) key=$(printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n') ;;
  esac
  digest=$({ printf '%s.%s.' "$2" "$3"; cat "$5"; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  [ -n "$digest" ] || return 1
  # After a change of the secret there are two signatures, separated by a space.
  case " $4 " in *" v1,$digest "*) return 0 ;; esac
  return 1
}
