# A sweep through Slurm gives the bytes of a local one: tools/slurm/submit.sh on a real cluster of
# one node, which this test makes of Debian's packages in its own directory, on ports of its own,
# and takes down again whatever happens. Skipped where Slurm is not there or cannot start.
set -eu
PATH=$PATH:/usr/sbin:/sbin
skip() {
    echo "$*"
    exit 77
}
for tool in munged slurmctld slurmd sbatch scontrol sinfo squeue scancel; do
    command -v $tool >/dev/null || skip "there is no $tool (tools/setup/setup.sh ci installs it)"
done
cluster=$PWD/cluster
mkdir -p "$cluster/state" "$cluster/spool"
chmod 711 "$PWD" "$cluster" # munge wants a way to its socket
SLURM_CONF=$cluster/slurm.conf
export SLURM_CONF
unset SLURM_JOB_ID SLURM_ARRAY_TASK_ID SLURM_CPUS_PER_TASK

# Until a command succeeds, at most so many tenths of a second.
within() { # tenths, command
    left=$1
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.1
    done
}

# All processes of this cluster, those of its jobs included, were started with its SLURM_CONF.
ours() {
    set -- /proc/[0-9]*/environ # before grep is there, which would find itself
    grep -lsxzF "SLURM_CONF=$SLURM_CONF" "$@" | cut -d / -f 3
}

are_gone() {
    [ -z "$(ours)" ]
}

stop() {
    status=$?
    trap '' INT TERM
    scancel --state=PENDING,RUNNING -u "$(id -un)" >/dev/null 2>&1 || true
    for signal in TERM KILL; do
        for pid in $(ours); do
            kill -$signal "$pid" 2>/dev/null || true
        done
        within 40 are_gone || true
    done
    exit $status
}

# Two ports on which nobody listens.
port=$((20000 + $$ % 20000))
while grep -qiE ":($(printf '%04X|%04X' $port $((port + 1)))) [0-9A-F]+:0000 0A" /proc/net/tcp*; do
    port=$((port + 2))
done
name=$(hostname -s)
user=$(id -un)
tracker=linuxproc
[ "$(id -u)" = 0 ] || tracker=pgid
cat >"$SLURM_CONF" <<CONF
ClusterName=snapsim
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$user
SlurmdUser=$user
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthInfo=socket=$cluster/munge.socket
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.pid
ProctrackType=proctrack/$tracker
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1
ReturnToService=2
NodeName=$name NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=test Nodes=$name Default=YES MaxTime=INFINITE State=UP
CONF

# A limit on each, should this test itself be killed.
trap stop EXIT
trap 'exit 1' INT TERM
dd if=/dev/urandom of="$cluster/munge.key" bs=128 count=1 2>/dev/null
chmod 600 "$cluster/munge.key"
start() { # name, command
    timeout -k 5 100 "$@" >"$cluster/$1.log" 2>&1 &
}
start munged -F --key-file="$cluster/munge.key" --socket="$cluster/munge.socket" \
    --pid-file="$cluster/munged.pid" --seed-file="$cluster/munged.seed"
within 50 test -S "$cluster/munge.socket" ||
    skip "munged does not start: $(cat "$cluster/munged.log")"
start slurmctld -D
start slurmd -D -N "$name"
is_idle() {
    [ "$(sinfo -h -o %T)" = idle ]
}
within 200 is_idle ||
    skip "Slurm does not start: $(tail -n 2 "$cluster"/slurm*.log | tr '\n' ' ')"

cat >sweep.json <<'SWEEP'
{"name": "slurm", "trace": ["load.jsonl", {"conversations": 20}],
 "placement": ["none", "prompt-end", "turn", "fixed:4096"], "eviction": ["lru", "lfu"],
 "capacity": {"from": "16GiB", "to": "256GiB", "factor": 4}}
SWEEP
"$SNAPSIM" trace generate -o load.jsonl --conversations 30
"$SNAPSIM" sweep sweep.json --output local.jsonl
submit() {
    timeout -k 1 25 sh "$ROOT/tools/slurm/submit.sh" --program "$SNAPSIM" "$@" >submitted || {
        cat submitted "$cluster"/slurm*.log ./*.parts/*.log
        exit 1
    }
}
is_done() {
    [ -z "$(squeue -h)" ]
}
submit sweep.json -n 3 -o merged.jsonl --wait
cmp local.jsonl merged.jsonl
# a part that is lost is run again, and no other
touch before
rm merged.jsonl merged.jsonl.parts/part-2-*
submit sweep.json -n 3 -o merged.jsonl -- --job-name=again
within 200 is_done
cmp local.jsonl merged.jsonl
[ "$(find merged.jsonl.parts -name 'part-*' -newer before)" = \
    merged.jsonl.parts/part-2-of-3.jsonl.zst ]
# parts of another sweep are not taken for its own
echo '{}' >other.json
if sh "$ROOT/tools/slurm/submit.sh" other.json -o merged.jsonl --program "$SNAPSIM" 2>message; then
    exit 1
fi
grep -q 'parts of another sweep' message
