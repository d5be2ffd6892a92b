#!/bin/sh
# Runs a program under Open MPI on two hosts that are network namespaces of this machine, two processes on each, joined by TCP and
# started by an agent in the place of ssh. Prints how many bytes the second host has received. Needs root and iproute2; ends
# with status 77 where namespaces cannot be made.
#
#     scripts/hosts.sh [-x VARIABLE]... PROGRAM ARGUMENT...
set -eu
one=h5dnn-$$-1 two=h5dnn-$$-2
agent=$(mktemp)
trap 'rm -f "$agent"; ip netns del $one 2>/dev/null || :; ip netns del $two 2>/dev/null || :' EXIT
trap 'exit 1' INT TERM HUP

ip netns add $one && ip netns add $two && ip link add h5a$$ netns $one type veth peer name h5b$$ netns $two || exit 77
# begin NAMESPACE DEVICE NUMBER: its network, 10.77.0.NUMBER.
begin() {
	ip -n "$1" addr add "10.77.0.$3/24" dev "$2"
	ip -n "$1" link set "$2" up
	ip -n "$1" link set lo up
}
begin $one h5a$$ 1
begin $two h5b$$ 2

# The agent is called as ssh is: HOST COMMAND. A host has a name, an environment and a network of its own, but no files and processes of its own.
cat >"$agent" <<END
#!/bin/sh
number=\${1##*.}
shift
exec ip netns exec h5dnn-$$-\$number unshare --uts sh -c 'hostname host\$0; exec env -i PATH="\$PATH" HOME=/tmp sh -c "\$*"' "\$number" "\$@"
END
chmod +x "$agent"

ip netns exec $one unshare --uts sh -c 'hostname host1; exec "$@"' sh \
	mpirun.openmpi --allow-run-as-root --oversubscribe --mca plm rsh --mca plm_rsh_agent "$agent" \
	--mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
	--host 10.77.0.1:2,10.77.0.2:2 -n 4 "$@"
echo "hosts: $(ip netns exec $two cat /sys/class/net/h5b$$/statistics/rx_bytes) bytes from host1 to host2" >&2
