# SPDX-License-Identifier: Apache-2.0
# complete.sh SCRIPT WORD... - what bash would offer for the last word, a line each.
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
function_name=$(complete -p ctsc | sed 's/.*-F \([^ ]*\).*/\1/')
$function_name
printf '%s\n' "${COMPREPLY[@]}" | sed '/^$/d'
