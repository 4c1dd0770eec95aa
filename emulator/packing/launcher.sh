#!/bin/sh
# The Python of Spark's executors, as `emulator pack` wrote it: one of this machine, with the packages of this folder.
# EMULATOR_PYTHON names it where it is not in PATH.
here=$(cd "${0%/*}/.." && pwd) || exit 3
built_for='@SOABI@'
for python in "${EMULATOR_PYTHON:-python@VERSION@}" "${EMULATOR_PYTHON:-python3}"; do
    found=$("$python" -I -S -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))' 2>/dev/null </dev/null)
    if [ "$found" = "$built_for" ]; then
        PYTHONPATH="$here/site-packages${PYTHONPATH:+:$PYTHONPATH}"
        EMULATOR_PACKED_CACHE="$here/compiled"
        NUMBA_CPU_NAME="${NUMBA_CPU_NAME-generic}"
        export PYTHONPATH EMULATOR_PACKED_CACHE NUMBA_CPU_NAME
        exec "$python" "$@"
    fi
done
looked="${EMULATOR_PYTHON:-python@VERSION@ or python3 in PATH=$PATH}"
echo "error: Python @VERSION@ ($built_for) is needed, as of the packed environment; $looked is not one; allowed: one in PATH or named by EMULATOR_PYTHON" >&2
exit 3
