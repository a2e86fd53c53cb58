# Runs PROGRAM with ARGUMENTS (joined by "@"): it must end with 0 and print CASES different rows of a Markdown table.
string(REPLACE "@" ";" arguments "${ARGUMENTS}")
execute_process(COMMAND ${PROGRAM} ${arguments} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
message("${output}${errors}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${code}")
endif()
# depth · batch · head_dim · GQA · type · blocks | MB | GB/s | GB/s | multiply-adds/s, peak | bound by | ratio
set(number "[0-9]+[.][0-9]+")
string(REGEX MATCHALL
  "\n[0-9]+ · [0-9]+ · [0-9]+ · [0-9]+ · [a-z0-9_]+ · (in order|scattered)[a-z0-9 ·]* [|] ${number} [|] ${number} [|] ${number} [|] ${number}, ${number} [|] (memory|multiply-adds) [|] ${number}"
  rows "${output}")
list(TRANSFORM rows REPLACE " [|].*" "" OUTPUT_VARIABLE names)
list(REMOVE_DUPLICATES names)
list(LENGTH rows num_rows)
list(LENGTH names num_names)
if(NOT num_rows EQUAL CASES OR NOT num_names EQUAL CASES)
  message(FATAL_ERROR "found ${num_rows} rows of ${num_names} cases, expected ${CASES}")
endif()
