"""One measurement of a row by each program: tokens/s."""
import json
import subprocess

BATCHED_CONTEXT = 8192  # of llama-batched-bench


def run(command):
    command = [*map(str, command)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-1000:]}")
    return done.stdout


def llama_cpp(binaries, model, row, threads):
    if row.batch > 1:
        out = run([binaries / "llama-batched-bench", "-m", model, "-t", threads, "-c", BATCHED_CONTEXT,
                   "-npp", row.depth, "-ntg", row.tokens, "-npl", row.batch, "-fa", "on", "--output-format", "jsonl"])
        line = next(line for line in out.splitlines() if line.startswith("{"))
        return json.loads(line)["speed_tg"]
    prompt, gen = (row.tokens, 0) if row.kind == "prefill" else (0, row.tokens)
    rows = json.loads(run([binaries / "llama-bench", "-m", model, "-t", threads, "-fa", "1", "-r", "1", "-p", prompt,
                           "-n", gen, "-d", row.depth, "-o", "json"]))
    return rows[0]["avg_ts"]


def octavo(program, model, row, threads, isa):
    """Also what the machine could do at most in that run, the machine, and how long loading took."""
    prompt, gen = (row.tokens, 0) if row.kind == "prefill" else (0, row.tokens)
    out = json.loads(run([program, "bench", "-m", model, "--threads", threads, "--isa", isa, "--repeat", "1",
                          "--prompt", prompt, "--gen", gen, "--batch", row.batch, "--depth", row.depth,
                          "--format", "json"]))
    result = out["results"][0]
    return {"octavo": result["tokens_per_s"], "limit": result["tokens_per_s"] / result["share"],
            "bound": result["limit"], "machine": out["machine"], "load_s": out["model"]["load_s"],
            "weight_bytes": out["model"]["weight_bytes"]}
