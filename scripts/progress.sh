# shellcheck shell=bash Sourced by the other scripts: what they are at, on standard error. The progress of a long step
# is one line that is written over on a terminal, and elsewhere a line at each quarter of the way.

say() { printf 'octavo: %s\n' "$*" >&2; }

progress_line=  # on the terminal, without an end yet
progress_at=    # the last step and quarter

# show_progress STEP PERCENT DETAIL
show_progress() {
  local at="$1 $(($2 / 25))"
  if [ -t 2 ]; then
    [ -z "$progress_line" ] || [ "$progress_line" = "$1" ] || printf '\n' >&2
    printf '\r\033[Koctavo: %s %3d%%%s' "$1" "$2" "${3:+, $3}" >&2
    progress_line=$1
  elif [ "$at" != "$progress_at" ]; then
    say "$1 $2%${3:+, $3}"
  fi
  progress_at=$at
}

# The line stays as it is, and what follows begins a line of its own.
end_progress() {
  [ -z "$progress_line" ] || printf '\n' >&2
  progress_line=
}

# time_left SECONDS DONE TOTAL: what the rest will take at the rate so far; nothing while too little is known.
time_left() {
  [ "$1" -ge 5 ] && [ "$2" -gt 0 ] || return 0
  local left=$(($1 * ($3 - $2) / $2))
  if [ "$left" -ge 90 ]; then
    printf 'about %d min left' $(((left + 30) / 60))
  else
    printf 'about %d s left' $(((left + 9) / 10 * 10))
  fi
}

# apt's status lines: packages are downloaded first, then installed, and either goes from 0 to 100 %.
apt_progress() {
  local kind percent text
  trap '' INT  # apt's own end is waited for
  while IFS=: read -r kind _ percent text; do
    percent=${percent%.*}
    [[ $percent =~ ^[0-9]+$ ]] || continue
    case $kind in
      dlstatus) show_progress "downloading packages" "$percent" "${text#Retrieving }" ;;
      pmstatus) show_progress "installing packages" "$percent" ;;
    esac
  done
  end_progress
}

# The output of ninja, whose NINJA_STATUS is $ninja_status. The messages of compilers are passed on. Before it builds,
# ninja looks whether its own file is still right, in one or two steps with a count of their own: they are left out.
# shellcheck disable=SC2034 # used by who sources this
ninja_status='octavo-unit %f %t %p '
build_progress() {
  local line began=$SECONDS
  trap '' INT  # ninja's own end is waited for
  while IFS= read -r line; do
    [[ $line != octavo-unit*"% Re-"@("checking globbed directories"|"running CMake")* ]] || continue
    if [[ $line =~ ^octavo-unit\ ([0-9]+)\ ([0-9]+)\ +([0-9]+)% ]]; then
      local done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} left
      left=$(time_left $((SECONDS - began)) "$done" "$total")
      show_progress "building" "${BASH_REMATCH[3]}" "$done of $total${left:+, $left}"
    elif [[ $line != "ninja: Entering directory"* ]]; then
      end_progress
      printf '%s\n' "$line" >&2
    fi
  done
  end_progress
}
